import { ChevronsUpDown, CircleUserRound } from 'lucide-react';
import { Suspense, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useViewer } from '../session/viewer.ts';
import { LANGUAGES } from '../texts/languages.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { later } from '../ui/later.ts';
import { userMenuTexts } from './texts.ts';
import { ThemeSelect } from './theme-select.tsx';
import './style.css';

const KeysDialog = later(async () => (await import('./keys-dialog.tsx')).KeysDialog);

interface UserMenuProps {
  readonly language: string;
  readonly onLanguage: (language: string) => void;
  readonly onSignOut: () => void;
}

/** The own account, theme and language, which this browser remembers, the keys, and the sign-out. */
export function UserMenu({ language, onLanguage, onSignOut }: UserMenuProps) {
  const text = useTexts(userMenuTexts);
  const viewer = useViewer();
  const menu = useRef<HTMLElement>(null);
  const [hasKeys, setKeys] = useState(false);
  // The focus returns to the button of the menu, and from there to the dialog and back.
  const hide = () => menu.current?.hidePopover();
  const showKeys = () => {
    hide();
    setKeys(true);
  };
  return (
    <>
      <button type="button" className="user" popoverTarget="user-menu">
        <CircleUserRound aria-hidden="true" />
        <span>{viewer.email ?? viewer.name}</span>
        <ChevronsUpDown aria-hidden="true" />
      </button>
      <section id="user-menu" popover="auto" aria-label={text('userMenu')} ref={menu}>
        <Link href="/account" onClick={hide}>
          {text('ownAccount')}
        </Link>
        <ThemeSelect />
        <Field label={text('language')}>
          <select value={language} onChange={({ currentTarget: { value } }) => onLanguage(value)}>
            {Object.entries(LANGUAGES).map(([key, { name }]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <button type="button" aria-keyshortcuts="?" onClick={showKeys}>
          {text('keys')} <kbd>?</kbd>
        </button>
        <button type="button" onClick={onSignOut}>
          {text('signOut')}
        </button>
      </section>
      <Suspense fallback={null}>{hasKeys && <KeysDialog onClose={() => setKeys(false)} />}</Suspense>
    </>
  );
}
