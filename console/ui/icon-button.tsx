import type { LucideIcon } from 'lucide-react';

interface IconButtonProps {
  readonly icon: LucideIcon;
  /** What it does, with the name of the row: for screen readers, and shown when it is pointed at. */
  readonly label: string;
  readonly isDestructive?: boolean;
  readonly disabled?: boolean;
  /** Whether the keys of a grid reach its row, so that the button is no stop of the Tab key. Default: false. */
  readonly isInGrid?: boolean;
  readonly onClick: () => void;
}

/** An action of a row of a table. */
export function IconButton(props: IconButtonProps) {
  const { icon: Icon, label, isDestructive = false, disabled = false, isInGrid = false, onClick } = props;
  return (
    <button
      type="button"
      className={isDestructive ? 'icon danger' : 'icon'}
      title={label}
      aria-label={label}
      disabled={disabled}
      tabIndex={isInGrid ? -1 : undefined}
      onClick={onClick}
    >
      <Icon aria-hidden="true" />
    </button>
  );
}
