import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { AuditEventName, AuditSubject } from '../domain/audit-event.js';

@Entity('audit_events')
export class AuditEventRow {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'audit_events_pkey',
  })
  id!: string;

  @Column('timestamptz')
  at!: Date;

  @Column('text')
  event!: AuditEventName;

  @Column('integer', { name: 'actor_id', nullable: true })
  actorId!: number | null;

  @Column('text', { name: 'actor_name', nullable: true })
  actorName!: string | null;

  @Column('text', { name: 'subject_type', nullable: true })
  subjectType!: AuditSubject['type'] | null;

  @Column('text', { name: 'subject_id', nullable: true })
  subjectId!: string | null;

  @Column('text', { name: 'subject_name', nullable: true })
  subjectName!: string | null;

  @Column('text', { nullable: true })
  address!: string | null;

  @Column('text', { name: 'request_id', nullable: true })
  requestId!: string | null;

  @Column('bigint', { name: 'written_by', nullable: true })
  writtenBy!: string | null;

  @Column('jsonb')
  details!: Record<string, unknown>;
}
