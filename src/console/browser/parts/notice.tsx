import type { ReactNode } from 'react';
import { Icon } from './icon.js';

interface NoticeProps {
  tone: 'gain' | 'loss' | 'warn';
  icon?: string;
  title: ReactNode;
  /** What comes by itself is read aloud: a failure as `alert`. */
  role?: 'alert' | 'status';
  /** Buttons. */
  actions?: ReactNode;
  children?: ReactNode;
}

/** Stands in the page until its cause is gone. */
export function Notice({ tone, icon = 'warn', title, role, actions, children }: NoticeProps) {
  return (
    <div className={`notice notice--${tone}`} role={role}>
      <Icon name={icon} />
      <div>
        <b>{title}</b>
        {children}
      </div>
      {actions && <div className="row">{actions}</div>}
    </div>
  );
}
