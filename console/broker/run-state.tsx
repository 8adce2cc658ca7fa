import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Refusal } from '../ui/problem.tsx';
import { runTexts } from './run-texts.ts';

const RUN_STATE = graphql(`query RunState($id: ID!) {
  broker(id: $id) { name viewerCanUpdate ... on CloudBroker { state targetState problem } }
}`);
const SET_TARGET = graphql(`mutation SetTargetState($input: SetTargetStateInput!) {
  setTargetState(input: $input) { broker { id } }
}`);

/** States change by themselves. */
const EVERY_MS = 2_000;

/** Whether a broker that this service runs is running, and its start and stop. */
export function RunState({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(runTexts);
  const { data, renew } = useQuery(RUN_STATE, { id: brokerId }, EVERY_MS);
  const { run, isBusy, error } = useMutation(SET_TARGET);
  const [isStopping, setStopping] = useState(false);
  const broker = data?.broker;
  if (!broker || !('state' in broker)) return null;
  const { state, targetState, problem, name, viewerCanUpdate } = broker;
  const set = async (target: typeof targetState) => {
    if ((await run({ input: { brokerId, targetState: target } })) === null) return;
    setStopping(false);
    renew();
  };
  return (
    <>
      <dt>{text('running')}</dt>
      <dd>
        <span className={`state ${state === 'ERROR' ? 'FAILED' : state}`}>{text(state)}</span>{' '}
        {viewerCanUpdate && targetState === 'INACTIVE' && (
          <button type="button" disabled={isBusy} onClick={() => void set('ACTIVE')}>
            {text('start')}
          </button>
        )}
        {viewerCanUpdate && targetState === 'ACTIVE' && (
          <button type="button" onClick={() => setStopping(true)}>
            {text('stop')} …
          </button>
        )}
        {problem !== null && (
          <p role="alert" lang="en">
            {problem}
          </p>
        )}
        {!isStopping && <Refusal error={error} />}
        {isStopping && (
          <Confirmation
            title={text('stopOf', { name })}
            action={text('stop')}
            isDestructive={true}
            isBusy={isBusy}
            error={error}
            onConfirm={() => void set('INACTIVE')}
            onClose={() => setStopping(false)}
          >
            <p>{text('stopMeans')}</p>
          </Confirmation>
        )}
      </dd>
    </>
  );
}
