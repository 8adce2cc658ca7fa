import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import './empty.css';

interface EmptyProps {
  readonly icon: LucideIcon;
  /** What is not there, or what the screen is for. */
  readonly title: string;
  /** One sentence, and one action. */
  readonly children?: ReactNode;
}

/** Where there is nothing to show yet: what this place is for, and the next step. */
export function Empty({ icon: Icon, title, children }: EmptyProps) {
  return (
    <div className="empty">
      <Icon aria-hidden="true" />
      <p className="empty-title">{title}</p>
      {children}
    </div>
  );
}
