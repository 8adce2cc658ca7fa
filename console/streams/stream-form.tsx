import { type FormEvent, useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';
import { Preview } from './preview.tsx';
import { QueryEditor } from './query-editor.tsx';
import { CREATE, type CreateInput, type Stream, UPDATE } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface StreamFormProps {
  readonly brokerId: string;
  /** `null`: a new one. */
  readonly stream: Stream | null;
  /** Whether samples may be taken from live messages. */
  readonly canRead: boolean;
  readonly onClose: () => void;
  readonly onSaved: (name: string) => void;
}

const NEW = {
  name: '',
  sourceTopic: '',
  targetTopic: '',
  targetQos: -1,
  textName: '',
  textDescription: '',
  ttl: 86_400,
  isActive: true,
  persist: false,
  process: true,
};
const EXAMPLE = { select: [{ source: '[value]', target: '[value]' }] };

/** The settings of a stream with its query, and what the query does with samples. */
export function StreamForm({ brokerId, stream, canRead, onClose, onSaved }: StreamFormProps) {
  const text = useTexts(streamTexts);
  const draft = useDraft<typeof NEW & { readonly query: unknown }>(`stream ${brokerId} ${stream?.name ?? ''}`, {
    ...NEW,
    ...stream,
    targetTopic: stream?.targetTopic ?? '',
    textName: stream?.textName ?? '',
    textDescription: stream?.textDescription ?? '',
    query: stream?.query ?? EXAMPLE,
  });
  const { value: form, change } = draft;
  // A query that is none is not stored: the editor has its text.
  const [isValid, setValid] = useState(true);
  const create = useMutation(CREATE);
  const update = useMutation(UPDATE);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const { name, sourceTopic, targetQos, ttl, isActive, persist, process } = form;
    const settings = {
      targetTopic: given(form.targetTopic),
      textName: given(form.textName),
      textDescription: given(form.textDescription),
      targetQos,
      ttl,
      isActive,
      persist,
      process,
    };
    const input: CreateInput = { brokerId, name, sourceTopic, ...settings, query: form.query };
    const saved = await (stream ? update : create).run({ input });
    if (saved === null) return;
    draft.discard();
    onSaved(name);
  };
  const line = (name: 'name' | 'sourceTopic' | 'targetTopic' | 'textName' | 'textDescription', isRequired = false) => (
    <input
      required={isRequired}
      readOnly={name === 'name' && stream !== null}
      value={form[name]}
      onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
    />
  );
  const check = (name: 'isActive' | 'persist' | 'process') => (
    <label>
      <input
        type="checkbox"
        checked={form[name]}
        onChange={({ currentTarget: { checked } }) => change({ [name]: checked })}
      />{' '}
      {text(name)}
    </label>
  );
  return (
    <form className="stream-form" onSubmit={(event) => void save(event)}>
      <PageHeading of="OBJECT">{stream ? text('changeOf', { name: stream.name }) : text('newStream')}</PageHeading>
      <Restored draft={draft} />
      <div className="stream-columns">
        <div className="fields">
          <Field label={text('name')} hint={stream ? text('nameFixed') : undefined}>
            {line('name', true)}
          </Field>
          <Field label={text('source')} hint={text('sourceHint')}>
            {line('sourceTopic', true)}
          </Field>
          <Field label={text('target')} hint={text('targetHint')}>
            {line('targetTopic')}
          </Field>
          <Field label={text('targetQos')}>
            <select
              value={form.targetQos}
              onChange={({ currentTarget }) => change({ targetQos: Number(currentTarget.value) })}
            >
              <option value={-1}>{text('sameQos')}</option>
              {[0, 1, 2].map((qos) => (
                <option key={qos} value={qos}>
                  {qos}
                </option>
              ))}
            </select>
          </Field>
          <Field label={text('textName')}>{line('textName')}</Field>
          <Field label={text('description')}>{line('textDescription')}</Field>
          {check('isActive')}
          {check('persist')}
          {form.persist && (
            <Field label={text('ttl')} hint={text('ttlHint')}>
              <input
                type="number"
                min={0}
                value={form.ttl}
                onInput={({ currentTarget }) => change({ ttl: Number(currentTarget.value) })}
              />
            </Field>
          )}
          {check('process')}
        </div>
        <div>
          <QueryEditor
            key={String(draft.isRestored)}
            value={form.query}
            onChange={(query, isQuery) => {
              setValid(isQuery);
              if (isQuery) change({ query });
            }}
          />
          <Preview
            brokerId={brokerId}
            query={isValid ? form.query : null}
            source={form.sourceTopic}
            canRead={canRead}
          />
        </div>
      </div>
      <Refusal error={create.error ?? update.error} />
      <p className="buttons">
        <button type="button" onClick={onClose}>
          {text('cancel')}
        </button>
        <button type="submit" disabled={create.isBusy || update.isBusy || !isValid}>
          {text('save')}
        </button>
      </p>
    </form>
  );
}

const given = (text: string): string | null => (text === '' ? null : text);
