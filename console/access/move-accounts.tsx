import { useEffect, useState } from 'react';
import { useBroker } from '../broker/broker-context.ts';
import { ask } from '../graph/ask.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { NotAll } from '../ui/not-all.tsx';
import { useAccess } from './access-context.ts';
import { Changes } from './changes.tsx';
import { moveTexts } from './move-texts.ts';
import { type Moved, MovedAccounts } from './moved-accounts.tsx';
import { newPassword } from './new-password.ts';

const PROJECTS = graphql(`query ProjectsForAccounts {
  projects(first: 1000) { totalCount nodes { id name } }
}`);
const BROKERS = graphql(`query BrokersForAccounts($id: ID!) {
  project(id: $id) { id brokers(first: 1000) { totalCount nodes { id name viewerCanChangeAccessControl } } }
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

const NONE: ResultOf<typeof PROJECTS>['projects'] = { nodes: [], totalCount: 0 };

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
  const { project } = useBroker();
  const [projectId, setProjectId] = useState(project.id);
  const { nodes: projects, totalCount: projectCount } = useQuery(PROJECTS, {}).data?.projects ?? NONE;
  const found = useQuery(BROKERS, { id: projectId }).data?.project;
  // The last result may be that of another project.
  const known = found?.id === projectId ? found.brokers : null;
  const { run, isBusy, error } = useMutation(COPY);
  const [target, setTarget] = useState('');
  const [plan, setPlan] = useState<Copy | null>(null);
  const [refusal, setRefusal] = useState<RefusedError | null>(null);
  const [failed, setFailed] = useState<Copy | null>(null);
  const [moved, setMoved] = useState<Moved | null>(null);
  const brokers = (known?.nodes ?? []).filter(({ id, viewerCanChangeAccessControl: may }) => may && id !== brokerId);
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
      <Field label={text('project')}>
        <select
          value={projectId}
          onChange={({ currentTarget: { value } }) => {
            setProjectId(value);
            setTarget('');
          }}
        >
          {(projects.length > 0 ? projects : [project]).map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <NotAll shown={projects.length} total={projectCount} />
      <Field label={text('toBroker')}>
        <select required value={target} onChange={({ currentTarget: { value } }) => setTarget(value)}>
          <option value="">{text('chooseBroker')}</option>
          {brokers.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      {known && <NotAll shown={known.nodes.length} total={known.totalCount} />}
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
