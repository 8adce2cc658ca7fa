import { useEffect, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { useAccess } from './access-context.ts';
import { BlastRadius } from './blast-radius.tsx';
import { Changes } from './changes.tsx';
import { accessTexts } from './texts.ts';
import { useExecution } from './use-execution.ts';

const PLAN = graphql(`query PlanAccessControl($input: AccessControlImportInput!) {
  planAccessControl(input: $input) {
    outcome
    notes
    needPassword
    changes { outcome error { code message } commands { command fields state error { message } } }
    blastRadius { anonymous clientCount clients { clientId username } gateway isComplete usernames }
  }
}`);

const APPLY = graphql(`mutation ApplyAccessControl($input: AccessControlImportInput!) {
  applyAccessControl(input: $input) {
    outcome
    notes
    needPassword
    changes { outcome error { code message } commands { command fields state error { message } } }
    blastRadius { anonymous clientCount clients { clientId username } gateway isComplete usernames }
  }
}`);

/** One of both. */
export type Source = { readonly document: unknown } | { readonly mosquittoFile: string };

interface PlanDialogProps {
  readonly source: Source;
  readonly deleteOthers: boolean;
  readonly onClose: () => void;
}

/** More passwords are set by the command line, from a file. */
const PASSWORDS = 20;

/** Shows what brings the broker to the state of a document, and applies it. */
export function PlanDialog({ source, deleteOthers, onClose }: PlanDialogProps) {
  const text = useTexts(accessTexts);
  const { brokerId, revision, canChange } = useAccess();
  const [passwords, setPasswords] = useState<ReadonlyMap<string, string>>(new Map());
  const { run, isBusy, error } = useMutation(APPLY);
  const input = { ...source, brokerId, deleteOthers };
  const { data, error: refused } = useFresh(PLAN, { input }, revision);
  const { failed, executed } = useExecution<NonNullable<typeof data>['planAccessControl']>(onClose);
  const [needed, setNeeded] = useState<readonly string[]>([]);
  const plan = failed ?? data?.planAccessControl;
  useEffect(() => setNeeded(data?.planAccessControl.needPassword ?? []), [data]);
  const apply = async () => {
    const given = [...passwords].filter(([, password]) => password !== '');
    const list = given.map(([username, password]) => ({ username, password }));
    executed((await run({ input: { ...input, passwords: list } }))?.applyAccessControl);
  };
  const content = plan ? (
    <>
      {failed && <p role="alert">{text(failed.outcome)}</p>}
      {plan.notes.map((note) => (
        <p key={note} className="note" lang="en">
          {note}
        </p>
      ))}
      <Changes changes={plan.changes} />
      <BlastRadius blast={plan.blastRadius} />
      {needed.length > 0 && (
        <fieldset className="access-held">
          <legend>{text('passwords')}</legend>
          <p className="quiet">{text('passwordsMean')}</p>
          {needed.slice(0, PASSWORDS).map((username) => (
            <Field key={username} label={text('passwordOf', { name: username })}>
              <input
                type="password"
                autoComplete="new-password"
                value={passwords.get(username) ?? ''}
                onInput={({ currentTarget: { value } }) =>
                  setPasswords((before) => new Map([...before, [username, value]]))
                }
              />
            </Field>
          ))}
          {needed.length > PASSWORDS && <p>{text('furtherAccounts', { count: needed.length - PASSWORDS })}</p>}
        </fieldset>
      )}
    </>
  ) : (
    <Problem error={refused} />
  );
  if (!canChange) {
    return (
      <Dialog title={text('planTitle')} onClose={onClose}>
        {content}
      </Dialog>
    );
  }
  return (
    <Confirmation
      title={text('planTitle')}
      action={text('apply')}
      isDestructive={deleteOthers}
      isBusy={isBusy}
      isReady={data?.planAccessControl.outcome === 'PLANNED' && failed === null}
      error={error}
      onConfirm={() => void apply()}
      onClose={onClose}
    >
      {content}
    </Confirmation>
  );
}
