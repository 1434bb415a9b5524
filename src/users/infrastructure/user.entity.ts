import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { Deactivator, Role, Source } from '../domain/account.js';

@Entity('users')
export class UserRow {
  @PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'users_pkey',
  })
  id!: number;

  @Column('text')
  username!: string;

  @Column('text', { nullable: true })
  email!: string | null;

  @Column('text', { name: 'password_hash', nullable: true })
  passwordHash!: string | null;

  @Column('text')
  source!: Source;

  @Column('timestamptz', { name: 'one_time_until', nullable: true })
  oneTimeUntil!: Date | null;

  @Column('text')
  role!: Role;

  /** An administrator as a member of the identity provider's group alone. */
  @Column('boolean', { name: 'role_by_group' })
  roleByGroup!: boolean;

  @Column('boolean', { name: 'is_active' })
  isActive!: boolean;

  @Column('text', { name: 'deactivated_by', nullable: true })
  deactivatedBy!: Deactivator | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;
}

@Entity('principal_names')
export class PrincipalNameRow {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'principal_names_pkey' })
  name!: string;

  @Column('text')
  holder!: 'account' | 'engine';

  @Column('timestamptz', { name: 'claimed_at' })
  claimedAt!: Date;

  @Column('text', { name: 'account_key', nullable: true })
  accountKey!: string | null;

  @Column('integer', { name: 'former_of', nullable: true })
  formerOf!: number | null;
}
