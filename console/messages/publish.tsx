import { type FormEvent, useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';
import { PUBLISH, type Published } from './message-graph.ts';
import { EMPTY, PropertyFields } from './property-fields.tsx';
import { PAYLOAD_KINDS, payloadInput, propertiesInput } from './publish-input.ts';
import { Outcome } from './publish-outcome.tsx';
import { messageTexts } from './texts.ts';

const NEW = { topic: '', payload: '', kind: 'text', qos: 1, retain: false, properties: EMPTY };

/** A form that publishes a message, or only checks it. */
export function Publish({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(messageTexts);
  const { run, isBusy, error } = useMutation(PUBLISH);
  const draft = useDraft(`message ${brokerId}`, NEW);
  const [result, setResult] = useState<Published | null>(null);
  /** Why the payload is not what it should be. */
  const [problem, setProblem] = useState<string | null>(null);
  const { change } = draft;
  const { topic, payload, kind, qos, retain, properties } = draft.value;
  const publish = async (dryRun: boolean) => {
    setResult(null);
    const content = payloadInput(kind, payload);
    setProblem('problem' in content ? content.problem : null);
    if ('problem' in content) return;
    const wanted = propertiesInput(properties);
    const input = { brokerId, topic, payload: content, qos, retain, dryRun, ...(wanted && { properties: wanted }) };
    const published = await run({ input });
    if (published) setResult(published.publishMessage);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void publish(false);
  };
  return (
    <details className="card publish">
      <summary>{text('publish')}</summary>
      <form className="fields" onSubmit={submit}>
        <Restored draft={draft} />
        <Field label={text('topic')}>
          <input
            required
            value={topic}
            placeholder="plant/line1/setpoint"
            onInput={({ currentTarget: { value } }) => change({ topic: value })}
          />
        </Field>
        <div className="screen">
          <Field label={text('payloadKind')}>
            <select value={kind} onChange={({ currentTarget: { value } }) => change({ kind: value })}>
              {PAYLOAD_KINDS.map((name) => (
                <option key={name} value={name}>
                  {text(`${name}Payload`)}
                </option>
              ))}
            </select>
          </Field>
          <Field label="QoS">
            <select value={qos} onChange={({ currentTarget: { value } }) => change({ qos: Number(value) })}>
              {[0, 1, 2].map((number) => (
                <option key={number} value={number}>
                  {text(`qos${number as 0 | 1 | 2}`)}
                </option>
              ))}
            </select>
          </Field>
          <label>
            <input
              type="checkbox"
              checked={retain}
              onChange={({ currentTarget: { checked } }) => change({ retain: checked })}
            />{' '}
            {text('retainHint')}
          </label>
        </div>
        <Field label={text('payload')}>
          <textarea rows={4} value={payload} onInput={({ currentTarget: { value } }) => change({ payload: value })} />
        </Field>
        {retain && payload === '' && kind === 'text' && <p className="note">{text('deletesRetained')}</p>}
        <PropertyFields properties={properties} onChange={(changed) => change({ properties: changed })} />
        {problem !== null && <p role="alert">{text('badPayload', { problem })}</p>}
        <Refusal error={error} />
        {result && <Outcome published={result} />}
        <p className="buttons">
          <CopyAs
            document={PUBLISH}
            variables={{ input: { brokerId, topic, payload: { text: payload }, qos, retain } }}
          />
          <button type="button" disabled={isBusy || topic === ''} onClick={() => void publish(true)}>
            {text('check')}
          </button>
          <button type="submit" disabled={isBusy} aria-busy={isBusy}>
            {text('publishNow')}
          </button>
        </p>
      </form>
    </details>
  );
}
