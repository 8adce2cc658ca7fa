import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { type FreeBroker, placeOf } from './free-broker.ts';
import { clusterTexts } from './texts.ts';

const JOIN = graphql(`mutation JoinCluster($input: JoinClusterInput!) {
  joinCluster(input: $input) { cluster { id } }
}`);

interface JoinClusterProps {
  readonly cluster: { readonly id: string; readonly name: string };
  readonly free: readonly FreeBroker[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Makes a broker a node, after it was said that its access control is replaced. */
export function JoinCluster({ cluster: { id, name }, free, onDone, onClose }: JoinClusterProps) {
  const text = useTexts(clusterTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(JOIN);
  const [brokerId, setBrokerId] = useState(free[0]?.id ?? '');
  const broker = free.find((candidate) => candidate.id === brokerId);
  const join = async () => {
    if (!broker || (await run({ input: { clusterId: id, brokerId, ...placeOf(broker) } })) === null) return;
    notify(text('done'));
    onDone();
  };
  return (
    <Confirmation
      title={text('joinTo', { name })}
      action={text('join')}
      isBusy={isBusy}
      isReady={broker !== undefined}
      error={error}
      onConfirm={() => void join()}
      onClose={onClose}
    >
      {free.length === 0 && <p>{text('noFree')}</p>}
      {free.length > 0 && (
        <Field label={text('broker')}>
          <select value={brokerId} onChange={({ currentTarget: { value } }) => setBrokerId(value)}>
            {free.map((candidate) => (
              <option key={candidate.id} value={candidate.id}>
                {candidate.name}
              </option>
            ))}
          </select>
        </Field>
      )}
      {broker && <p className="note">{text('joinEffect', { broker: broker.name, name })}</p>}
    </Confirmation>
  );
}
