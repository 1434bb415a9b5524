import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { Deactivator, Role, Source } from './domain/account.js';

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

  /** The role was given by the identity provider's group only. */
  @Column('boolean', { name: 'role_by_group' })
  roleByGroup!: boolean;

  @Column('boolean', { name: 'is_active' })
  isActive!: boolean;

  @Column('text', { name: 'deactivated_by', nullable: true })
  deactivatedBy!: Deactivator | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;
}
