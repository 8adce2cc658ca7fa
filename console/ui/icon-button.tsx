import type { LucideIcon } from 'lucide-react';

interface IconButtonProps {
  readonly icon: LucideIcon;
  /** What it does, with the name of the row: for screen readers, and shown when it is pointed at. */
  readonly label: string;
  readonly isDestructive?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
}

/** An action of a row of a table. */
export function IconButton({ icon: Icon, label, isDestructive = false, disabled = false, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      className={isDestructive ? 'icon danger' : 'icon'}
      title={label}
      aria-label={label}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon aria-hidden="true" />
    </button>
  );
}
