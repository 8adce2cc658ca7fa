import { useEffect, useState } from 'react';
import { ask } from '../graph/ask.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useAccess } from './access-context.ts';
import { Changes } from './changes.tsx';
import { moveTexts } from './move-texts.ts';
import { type Moved, MovedAccounts } from './moved-accounts.tsx';
import { newPassword } from './new-password.ts';

const BROKERS = graphql(`query BrokersForAccounts {
  projects(first: 100) {
    nodes { id name brokers(first: 100) { nodes { id name viewerCanChangeAccessControl } } }
  }
}`);

const COPY = graphql(`mutation CopyAccounts($input: CopyAccountsInput!) {
  copyAccounts(input: $input) {
    outcome
    notes
    needPassword
    keepPassword
    changes { outcome error { code message } commands { command fields state error { message } } }
  }
}`);

type Copy = ResultOf<typeof COPY>['copyAccounts'];

interface MoveAccountsProps {
  readonly usernames: readonly string[];
  /** After the accounts were copied. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Copies accounts to another broker after a dry run, and then offers to delete them on this one. */
export function MoveAccounts({ usernames, onDone, onClose }: MoveAccountsProps) {
  const text = useTexts(moveTexts);
  const { brokerId } = useAccess();
  const { data: known } = useQuery(BROKERS, {});
  const { run, isBusy, error } = useMutation(COPY);
  const [target, setTarget] = useState('');
  const [plan, setPlan] = useState<Copy | null>(null);
  const [refusal, setRefusal] = useState<RefusedError | null>(null);
  const [failed, setFailed] = useState<Copy | null>(null);
  const [moved, setMoved] = useState<Moved | null>(null);
  const brokers = (known?.projects.nodes ?? []).flatMap((project) =>
    project.brokers.nodes
      .filter(({ id, viewerCanChangeAccessControl: may }) => may && id !== brokerId)
      .map(({ id, name }) => ({ id, name, project: project.name })),
  );
  const input = { brokerId: target, fromBrokerId: brokerId, usernames: [...usernames] };
  useEffect(() => {
    let isWanted = target !== '';
    setPlan(null);
    setFailed(null);
    if (isWanted) {
      void ask(COPY, { input: { ...input, dryRun: true } }).then(({ data, error: refused }) => {
        if (!isWanted) return;
        setPlan(data?.copyAccounts ?? null);
        setRefusal(refused);
      });
    }
    return () => {
      isWanted = false;
    };
  }, [target]);
  const copy = async () => {
    const passwords = (plan?.needPassword ?? []).map((username) => ({ username, password: newPassword() }));
    const copied = (await run({ input: { ...input, passwords } }))?.copyAccounts;
    if (copied === undefined) return;
    if (copied.outcome !== 'APPLIED' && copied.outcome !== 'UNCHANGED') setFailed(copied);
    else {
      const broker = brokers.find(({ id }) => id === target)?.name ?? '';
      // An account that the other broker had already may be another one.
      const created = createdBy(copied);
      setMoved({
        usernames: created.length > 0 ? created : usernames,
        broker,
        passwords,
        without: copied.needPassword,
        notes: copied.notes,
      });
    }
  };
  if (moved) return <MovedAccounts moved={moved} onClose={onDone} />;
  const shown = failed ?? plan;
  return (
    <Confirmation
      title={text('moveTitle', { count: usernames.length })}
      action={text('copy')}
      isBusy={isBusy}
      isReady={failed === null && (plan?.outcome === 'PLANNED' || plan?.outcome === 'UNCHANGED')}
      error={error ?? refusal}
      onConfirm={() => void copy()}
      onClose={onClose}
    >
      <p>{text('moveMeans')}</p>
      {known && brokers.length === 0 && <p className="note">{text('noBroker')}</p>}
      <Field label={text('toBroker')}>
        <select required value={target} onChange={({ currentTarget: { value } }) => setTarget(value)}>
          <option value="">{text('chooseBroker')}</option>
          {brokers.map(({ id, name, project }) => (
            <option key={id} value={id}>
              {name} · {project}
            </option>
          ))}
        </select>
      </Field>
      {target !== '' && shown === null && refusal === null && <p aria-busy="true">{text('planning')}</p>}
      {shown && (
        <>
          {failed && <p role="alert">{text(failed.outcome)}</p>}
          {shown.notes.map((note) => (
            <p key={note} className="note" lang="en">
              {note}
            </p>
          ))}
          {shown.keepPassword.length > 0 && <p>{text('keepsPasswords', { count: shown.keepPassword.length })}</p>}
          {shown.needPassword.length > 0 && <p>{text('newPasswords', { count: shown.needPassword.length })}</p>}
          <Changes changes={shown.changes} />
        </>
      )}
    </Confirmation>
  );
}

const createdBy = ({ changes }: Copy): readonly string[] =>
  changes
    .flatMap(({ commands }) => commands.filter(({ command }) => command === 'createClient'))
    .map(({ fields }) => String((fields as { readonly username: unknown }).username));
