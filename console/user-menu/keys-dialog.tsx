import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { useOfferedShortcuts } from './shortcuts.ts';
import { userMenuTexts } from './texts.ts';

export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const text = useTexts(userMenuTexts);
  return (
    <Dialog title={text('keys')} onClose={onClose}>
      <dl>
        {useOfferedShortcuts().map(({ keys, meaning }) => [
          <dt key={`${meaning} term`}>
            <kbd>{keys.join(' ')}</kbd>
          </dt>,
          <dd key={meaning}>{text(meaning)}</dd>,
        ])}
      </dl>
    </Dialog>
  );
}
