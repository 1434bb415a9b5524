import { ApiProperty } from '@nestjs/swagger';

export class SignOutResponse {
  @ApiProperty({ format: 'uri', description: 'Where the browser goes to sign out at the identity provider, too.' })
  sign_out_url!: string;
}
