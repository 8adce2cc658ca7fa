import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Restored } from '../ui/restored.tsx';
import { type FreeBroker, placeOf } from './free-broker.ts';
import { clusterTexts } from './texts.ts';

const CREATE = graphql(`mutation CreateCluster($input: CreateClusterInput!) {
  createCluster(input: $input) { cluster { id } }
}`);
const MODES = ['DYNSEC', 'FULL', 'HP'] as const;

interface Values {
  readonly name: string;
  readonly mode: (typeof MODES)[number];
  /** Ids in the order in which they were chosen: the first gives its access control to the others. */
  readonly chosen: readonly string[];
}

interface CreateClusterProps {
  readonly projectId: string;
  readonly free: readonly FreeBroker[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Makes brokers one cluster, after it was said whose access control is replaced. */
export function CreateCluster({ projectId, free, onDone, onClose }: CreateClusterProps) {
  const text = useTexts(clusterTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(CREATE);
  const draft = useDraft<Values>(`cluster ${projectId}`, { name: '', mode: 'DYNSEC', chosen: [] });
  const { change } = draft;
  const { name, mode, chosen } = draft.value;
  const nodes = chosen.flatMap((id) => free.filter((broker) => broker.id === id));
  const [first, ...others] = nodes;
  const create = async () => {
    const input = {
      projectId,
      name,
      mode,
      nodes: nodes.map((broker, index) => ({
        brokerId: broker.id,
        nodeId: index + 1,
        name: broker.name,
        ...placeOf(broker),
      })),
    };
    if ((await run({ input })) === null) return;
    draft.discard();
    notify(text('created', { name }));
    onDone();
  };
  return (
    <Confirmation
      title={text('createCluster')}
      action={text('createCluster')}
      isBusy={isBusy}
      isReady={others.length > 0}
      error={error}
      onConfirm={() => void create()}
      onClose={onClose}
    >
      <div className="fields">
        <Restored draft={draft} />
        <Field label={text('name')}>
          <input
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
            autoFocus={true}
            required={true}
            autoComplete="off"
            value={name}
            onInput={({ currentTarget: { value } }) => change({ name: value })}
          />
        </Field>
        <Field label={text('mode')} hint={text(`${mode}Hint`)}>
          <select
            value={mode}
            onChange={({ currentTarget: { value } }) =>
              change({ mode: MODES.find((known) => known === value) ?? mode })
            }
          >
            {MODES.map((known) => (
              <option key={known} value={known}>
                {text(known)}
              </option>
            ))}
          </select>
        </Field>
        <fieldset>
          <legend>{text('chooseNodes')}</legend>
          {free.length === 0 && text('noFree')}
          {free.map(({ id, name: broker }) => (
            <label key={id} className="choice">
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={({ currentTarget: { checked } }) =>
                  change({ chosen: checked ? [...chosen, id] : chosen.filter((other) => other !== id) })
                }
              />
              <span>
                {broker}
                {chosen.includes(id) && <small> {text('node', { number: chosen.indexOf(id) + 1 })}</small>}
              </span>
            </label>
          ))}
        </fieldset>
      </div>
      {first && others.length > 0 && (
        <p className="note">
          {text('replaced', { first: first.name, others: others.map((broker) => broker.name).join(', ') })}
        </p>
      )}
    </Confirmation>
  );
}
