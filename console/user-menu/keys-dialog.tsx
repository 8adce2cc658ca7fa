import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { userMenuTexts } from './texts.ts';

const KEYS = [
  ['Ctrl K', 'keySearch'],
  ['/', 'keyFilter'],
  ['g h', 'fleet'],
  ['g p', 'people'],
  ['g a', 'audit'],
  ['g n', 'notifications'],
  ['g e', 'explorer'],
  ['g u', 'ownAccount'],
  ['j k', 'keyRows'],
  ['[ ]', 'keyTabs'],
  ['?', 'keyKeys'],
  ['↑ ↓', 'keyChoose'],
  ['Enter', 'keyOpen'],
  ['Esc', 'keyClose'],
  ['Tab', 'keyTab'],
] as const;

/** The keys of the console. */
export function KeysDialog({ onClose }: { readonly onClose: () => void }) {
  const text = useTexts(userMenuTexts);
  return (
    <Dialog title={text('keys')} onClose={onClose}>
      <dl>
        {KEYS.map(([key, meaning]) => [
          <dt key={`${key} term`}>
            <kbd>{key}</kbd>
          </dt>,
          <dd key={key}>{text(meaning)}</dd>,
        ])}
      </dl>
    </Dialog>
  );
}
