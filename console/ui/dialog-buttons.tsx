import { useTexts } from '../texts/texts.ts';

interface DialogButtonsProps {
  /** Names what the submit button does. */
  readonly action: string;
  readonly isBusy: boolean;
  /** Default: true. */
  readonly isReady?: boolean;
  readonly onClose: () => void;
  /** What the other button does. Default: "Cancel". */
  readonly closes?: string | undefined;
}

/** The buttons of a form in a dialog. */
export function DialogButtons({ action, isBusy, isReady = true, onClose, closes }: DialogButtonsProps) {
  const text = useTexts();
  return (
    <p className="buttons">
      <button type="button" onClick={onClose}>
        {closes ?? text('cancel')}
      </button>
      <button type="submit" disabled={isBusy || !isReady} aria-busy={isBusy}>
        {action}
      </button>
    </p>
  );
}
