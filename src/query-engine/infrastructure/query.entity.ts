import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { QueryErrorCode, QueryState } from '../domain/query.js';

@Entity('queries')
export class QueryRow {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'queries_pkey' })
  id!: string;

  @Column('integer', { name: 'user_id' })
  userId!: number;

  @Column('text', { name: 'run_as' })
  runAs!: string;

  @Column('text')
  state!: QueryState;

  @Column('text')
  sql!: string;

  @Column('text', { nullable: true })
  catalog!: string | null;

  @Column('text', { nullable: true })
  schema!: string | null;

  @Column('text', { name: 'trace_token' })
  traceToken!: string;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'started_at', nullable: true })
  startedAt!: Date | null;

  @Column('timestamptz', { name: 'finished_at', nullable: true })
  finishedAt!: Date | null;

  @Column('timestamptz', { name: 'deadline_at' })
  deadlineAt!: Date;

  @Column('double precision', { name: 'progress_percent', nullable: true })
  progressPercent!: number | null;

  @Column('text', { name: 'engine_query_id', nullable: true })
  engineQueryId!: string | null;

  @Column('jsonb', { nullable: true })
  columns!: unknown;

  /** A bigint of PostgreSQL's, so a string. */
  @Column('bigint', { name: 'rows_returned', default: 0 })
  rowsReturned!: string;

  @Column('boolean', { default: false })
  truncated!: boolean;

  @Column('numeric', { name: 'update_count', nullable: true })
  updateCount!: string | null;

  @Column('text', { name: 'error_code', nullable: true })
  errorCode!: QueryErrorCode | null;

  @Column('text', { name: 'error_message', nullable: true })
  errorMessage!: string | null;

  @Column('text', { name: 'engine_error_name', nullable: true })
  engineErrorName!: string | null;

  @Column('integer', { name: 'error_line', nullable: true })
  errorLine!: number | null;

  @Column('integer', { name: 'error_column', nullable: true })
  errorColumn!: number | null;

  @Column('uuid', { nullable: true })
  driver!: string | null;

  @Column('timestamptz', { name: 'lease_until', nullable: true })
  leaseUntil!: Date | null;

  @Column('text', { name: 'next_path', nullable: true })
  nextPath!: string | null;

  @Column('text', { name: 'page_path', nullable: true })
  pagePath!: string | null;

  @Column('bigint', { name: 'page_start', default: 0 })
  pageStart!: string;

  @Column('bigint', { name: 'newest_from', default: 0 })
  newestFrom!: string;

  @Column('timestamptz', { name: 'waiting_since', nullable: true })
  waitingSince!: Date | null;
}
