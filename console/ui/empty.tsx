import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import './empty.css';

interface EmptyProps {
  readonly icon: LucideIcon;
  /** What is not there, or what the screen is for. Its first sentence is shown as the title. */
  readonly title: string;
  /** One action. */
  readonly children?: ReactNode;
}

/** Where there is nothing to show yet: what this place is for, and the next step. */
export function Empty({ icon: Icon, title, children }: EmptyProps) {
  const [first, ...others] = title.split(/\. (?=.)/);
  return (
    <div className="empty">
      <Icon aria-hidden="true" />
      <p className="empty-title">{first}</p>
      {others.length > 0 && <p>{others.join('. ')}</p>}
      {children}
    </div>
  );
}
