import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('principal_names')
export class PrincipalNameRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'principal_names_pkey' })
  name!: string;

  @Column('text')
  holder!: 'account' | 'engine';

  @Column('timestamptz', { name: 'claimed_at' })
  claimedAt!: Date;
}
