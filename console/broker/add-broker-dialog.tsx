import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Restored } from '../ui/restored.tsx';
import { BrokerNeeds } from './broker-needs.tsx';
import { BrokerTest } from './broker-test.tsx';
import { ConnectionFields } from './connection-fields.tsx';
import { changesOf, NEW_CONNECTION, testOf, withoutSecrets } from './connection-input.ts';
import { connectionTexts } from './connection-texts.ts';
import './style.css';

const ADD = graphql(`mutation AddBroker($input: AddBrokerInput!) {
  addBroker(input: $input) { broker { id name } }
}`);

export interface AddBrokerDialogProps {
  readonly project: { readonly id: string; readonly name: string };
  readonly onAdded: () => void;
  readonly onClose: () => void;
}

/** Adds a broker that runs elsewhere. The service connects to it at once. */
export function AddBrokerDialog({ project, onAdded, onClose }: AddBrokerDialogProps) {
  const text = useTexts(connectionTexts);
  const notify = useNotices();
  const [, navigate] = useLocation();
  const { run, isBusy, error } = useMutation(ADD);
  const draft = useDraft(`broker ${project.id}`, NEW_CONNECTION, withoutSecrets);
  const add = async () => {
    const added = await run({ input: { projectId: project.id, ...changesOf(NEW_CONNECTION, draft.value) } });
    if (added === null) return;
    const { id, name } = added.addBroker.broker;
    notify(text('wasAdded', { name }));
    onClose();
    draft.startOver();
    onAdded();
    // Its first screen states what the broker lacks.
    navigate(`/brokers/${id}`);
  };
  return (
    <Confirmation
      title={text('addTo', { project: project.name })}
      action={text('addBroker')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void add()}
      onClose={onClose}
    >
      <Restored draft={draft} />
      <BrokerNeeds url={draft.value.url} username={draft.value.username} />
      <ConnectionFields input={draft.value} onChange={draft.change} isNew={true} hasConnection={true} />
      <BrokerTest input={{ projectId: project.id, ...testOf(draft.value) }} />
      <p className="note">{text('addNote')}</p>
    </Confirmation>
  );
}
