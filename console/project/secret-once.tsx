import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { tokenTexts } from './token-texts.ts';

interface SecretOnceProps {
  readonly name: string;
  readonly secret: string;
  /** Why it is shown only once. Default: that of tokens. */
  readonly note?: string;
  readonly onClose: () => void;
}

/** A secret that the service does not show again. */
export function SecretOnce({ name, secret, note, onClose }: SecretOnceProps) {
  const text = useTexts(tokenTexts);
  return (
    <Dialog title={text('secretOf', { name })} onClose={onClose}>
      <p>{note ?? text('once')}</p>
      <CommandToCopy command={secret} />
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('haveIt')}
        </button>
      </p>
    </Dialog>
  );
}
