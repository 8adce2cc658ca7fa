import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { tokenTexts } from './token-texts.ts';

interface SecretOnceProps {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** The secret of a token. The service stores a hash only, so it is shown this once. */
export function SecretOnce({ name, secret, onClose }: SecretOnceProps) {
  const text = useTexts(tokenTexts);
  return (
    <Dialog title={text('secretOf', { name })} onClose={onClose}>
      <p>{text('once')}</p>
      <CommandToCopy command={secret} />
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('haveIt')}
        </button>
      </p>
    </Dialog>
  );
}
