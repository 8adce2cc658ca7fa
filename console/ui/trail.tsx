import { ChevronRight } from 'lucide-react';
import { Link } from 'wouter';

interface TrailProps {
  /** For screen readers. */
  readonly label: string;
  /** From the whole to its parts, without what the heading below names. */
  readonly steps: readonly { readonly title: string; readonly address: string }[];
}

/** Where a screen belongs to. */
export function Trail({ label, steps }: TrailProps) {
  return (
    <nav className="trail" aria-label={label}>
      {steps.map(({ title, address }) => (
        <span key={address}>
          <Link href={address}>{title}</Link>
          <ChevronRight aria-hidden="true" />
        </span>
      ))}
    </nav>
  );
}
