import { useTexts } from '../texts/texts.ts';

interface DialogButtonsProps {
  /** Names what the submit button does. */
  readonly action: string;
  readonly isBusy: boolean;
  /** Default: true. */
  readonly isReady?: boolean;
  /** Whether the action deletes, disconnects or revokes something. Default: false. */
  readonly isDestructive?: boolean | undefined;
  readonly onClose: () => void;
  /** What the other button does. Default: "Cancel". */
  readonly closes?: string | undefined;
}

/** The buttons of a form in a dialog. */
export function DialogButtons({ action, isBusy, isReady = true, isDestructive, onClose, closes }: DialogButtonsProps) {
  const text = useTexts();
  return (
    <p className="buttons">
      <button type="button" onClick={onClose}>
        {closes ?? text('cancel')}
      </button>
      <button
        type="submit"
        className={isDestructive ? 'danger' : undefined}
        disabled={isBusy || !isReady}
        aria-busy={isBusy}
      >
        {action}
      </button>
    </p>
  );
}
