import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('refresh_tokens')
export class RefreshTokenRow {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'refresh_tokens_pkey' })
  id!: Buffer;

  @Column('uuid', { name: 'session_id' })
  sessionId!: string;

  @Column('bytea', { name: 'parent_id', nullable: true })
  parentId!: Buffer | null;

  @Column('timestamptz', { name: 'issued_at' })
  issuedAt!: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;

  @Column('timestamptz', { name: 'used_at', nullable: true })
  usedAt!: Date | null;
}
