import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Restored } from '../ui/restored.tsx';
import { useOpened } from '../ui/use-opened.ts';
import { BrokerNeeds } from './broker-needs.tsx';
import { ConnectionFields } from './connection-fields.tsx';
import { changesOf, NEW_CONNECTION, withoutSecrets } from './connection-input.ts';
import { connectionTexts } from './connection-texts.ts';
import './style.css';

const ADD = graphql(`mutation AddBroker($input: AddBrokerInput!) {
  addBroker(input: $input) { broker { id name } }
}`);

interface AddBrokerProps {
  readonly project: { readonly id: string; readonly name: string };
  readonly onAdded: () => void;
}

/** Adds a broker that runs elsewhere. The service connects to it at once. */
export function AddBroker({ project, onAdded }: AddBrokerProps) {
  const text = useTexts(connectionTexts);
  const notify = useNotices();
  const [, navigate] = useLocation();
  const { run, isBusy, error } = useMutation(ADD);
  const draft = useDraft(`broker ${project.id}`, NEW_CONNECTION, withoutSecrets);
  const [isOpen, setOpen] = useOpened(project.id);
  const add = async () => {
    const added = await run({ input: { projectId: project.id, ...changesOf(NEW_CONNECTION, draft.value) } });
    if (added === null) return;
    const { id, name } = added.addBroker.broker;
    notify(text('wasAdded', { name }));
    setOpen(false);
    draft.startOver();
    onAdded();
    // Its first screen states what the broker lacks.
    navigate(`/brokers/${id}`);
  };
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        {text('addBroker')}
      </button>
      {isOpen && (
        <Confirmation
          title={text('addTo', { project: project.name })}
          action={text('addBroker')}
          isBusy={isBusy}
          error={error}
          onConfirm={() => void add()}
          onClose={() => setOpen(false)}
        >
          <Restored draft={draft} />
          <BrokerNeeds url={draft.value.url} username={draft.value.username} />
          <ConnectionFields input={draft.value} onChange={draft.change} isNew={true} hasConnection={true} />
          <p className="note">{text('addNote')}</p>
        </Confirmation>
      )}
    </>
  );
}
