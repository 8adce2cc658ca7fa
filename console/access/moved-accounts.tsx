import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Table } from '../ui/table.tsx';
import { ChangeDialog } from './change-dialog.tsx';
import { moveTexts } from './move-texts.ts';

/** Accounts that are on another broker now, and still on this one. */
export interface Moved {
  readonly usernames: readonly string[];
  /** The name of the other broker. */
  readonly broker: string;
  readonly passwords: readonly { readonly username: string; readonly password: string }[];
  /** Accounts without a password. */
  readonly without: readonly string[];
  readonly notes: readonly string[];
}

interface MovedAccountsProps {
  readonly moved: Moved;
  readonly onClose: () => void;
}

/** The new passwords, and the second half of the move: the accounts are deleted here. */
export function MovedAccounts({ moved, onClose }: MovedAccountsProps) {
  const text = useTexts(moveTexts);
  const [isDeleting, setDeleting] = useState(false);
  const { usernames, broker, passwords, without, notes } = moved;
  if (isDeleting) {
    return (
      <ChangeDialog
        title={text('deleteTitle', { count: usernames.length })}
        action={text('deleteHere')}
        changes={usernames.map((username) => ({ deleteAccount: { username } }))}
        isDestructive
        onDone={onClose}
        onClose={() => setDeleting(false)}
      />
    );
  }
  return (
    <Dialog title={text('copied', { broker })} onClose={onClose}>
      {notes.map((note) => (
        <p key={note} className="note" lang="en">
          {note}
        </p>
      ))}
      {without.length > 0 && <p role="alert">{text('noPasswords', { names: without.join(', ') })}</p>}
      {passwords.length > 0 && (
        <section>
          <p>{text('savePasswords')}</p>
          <Table
            label={text('passwordsOf', { broker })}
            columns={[
              { key: 'account', title: text('account'), cell: ({ username }) => username },
              {
                key: 'password',
                title: text('password'),
                cell: ({ password }) => <code>{password}</code>,
                value: ({ password }) => password,
              },
            ]}
            rows={passwords}
            keyOf={({ username }) => username}
          />
        </section>
      )}
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('close')}
        </button>
        <button type="button" className="danger" onClick={() => setDeleting(true)}>
          {text('deleteHere')} …
        </button>
      </p>
    </Dialog>
  );
}
