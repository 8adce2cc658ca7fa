import { type FormEvent, useContext } from 'react';
import '../broker/style.css';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useDraft } from '../session/use-draft.ts';
import { Language, useTexts } from '../texts/texts.ts';
import { useNotices } from '../ui/notices.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';
import { type Bridge, CONFIG, UPDATE } from './bridge-graph.ts';
import { BridgeTest } from './bridge-test.tsx';
import { isMqtt, MqttFields } from './mqtt-fields.tsx';
import { connectionSchemaOf, connectionsOf, emptyOf, isFields, type Schema, withoutSecrets } from './schema.ts';
import { SchemaField } from './schema-field.tsx';
import { bridgeTexts } from './texts.ts';
import { HINTS, translated } from './translated.ts';

interface ConnectionFormProps {
  readonly brokerId: string;
  readonly bridge: Bridge;
  /** The connection to change. `null`: a new one. */
  readonly name: string | null;
  readonly onClose: () => void;
}

/**
 * A form for a connection, from the schema of its bridge. If a configuration is not a list of connections, the form is
 * for the whole configuration.
 */
export function ConnectionForm(props: ConnectionFormProps) {
  const text = useTexts(bridgeTexts);
  const hints = useContext(Language).translations[HINTS];
  const { data, error } = useQuery(CONFIG, { id: props.brokerId, key: props.bridge.key });
  const found = data?.broker?.bridge;
  if (!found || !isFields(found.schema)) return <Problem error={error} />;
  const { config } = found;
  const schema = translated(found.schema, hints);
  const ofConnection = connectionSchemaOf(schema);
  if (!ofConnection) {
    return <Form {...props} title={props.bridge.name} schema={schema} value={config} configOf={(value) => value} />;
  }
  const connections = connectionsOf(config);
  const at = connections.findIndex((connection) => connection.name === props.name);
  const configOf = (value: unknown) => ({
    ...(isFields(config) && config),
    connections: at === -1 ? [...connections, value] : connections.with(at, isFields(value) ? value : {}),
  });
  return (
    <Form
      {...props}
      title={at === -1 ? text('newConnection') : (props.name ?? '')}
      schema={ofConnection}
      value={at === -1 ? newOf(ofConnection) : connections[at]}
      configOf={configOf}
    />
  );
}

/** A new connection to another broker sends, which does no harm here. */
const newOf = (schema: Schema): unknown =>
  isMqtt(schema) ? { name: '', url: '', topics: [{ pattern: '', direction: 'out' }] } : emptyOf(schema);

interface FormProps extends ConnectionFormProps {
  readonly title: string;
  readonly schema: Schema;
  /** At first. */
  readonly value: unknown;
  readonly configOf: (value: unknown) => unknown;
}

function Form({ brokerId, bridge, name, title, schema, value: first, configOf, onClose }: FormProps) {
  const text = useTexts(bridgeTexts);
  const notify = useNotices();
  const draft = useDraft(`bridge ${brokerId} ${bridge.key} ${name ?? ''}`, { value: first }, (typed) => ({
    value: withoutSecrets(schema, typed.value, first),
  }));
  const { value } = draft.value;
  // Its fields have texts of their own.
  const key = String(draft.isRestored);
  const setValue = (changed: unknown) => draft.change({ value: changed });
  const { run, isBusy, error } = useMutation(UPDATE);
  const input = { brokerId, bridgeKey: bridge.key, config: configOf(value) };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const done = await run({ input });
    if (done === null) return;
    draft.discard();
    notify(text('saved', { name: bridge.name }));
    onClose();
  };
  return (
    <form className="bridge-form" onSubmit={(event) => void save(event)}>
      <PageHeading of="OBJECT">{bridge.name}</PageHeading>
      <Restored draft={draft} />
      <p className="quiet">{text('secretsHint')}</p>
      {isMqtt(schema) ? (
        <MqttFields key={key} name={title} schema={schema} value={value} onChange={setValue} />
      ) : (
        <SchemaField key={key} name={title} schema={schema} value={value} isRequired onChange={setValue} />
      )}
      {bridge.provider === 'GATEWAY' && isFields(value) && (
        <BridgeTest input={{ ...input, connectionName: String(value.name ?? '') }} />
      )}
      <Refusal error={error} />
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('cancel')}
        </button>
        <button type="submit" disabled={isBusy} aria-busy={isBusy}>
          {text('save')}
        </button>
      </p>
    </form>
  );
}
