import { type FormEvent, useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Field } from '../ui/field.tsx';
import { localTime } from '../ui/local-time.ts';
import { Refusal } from '../ui/problem.tsx';
import { RangeChoice } from '../ui/range-choice.tsx';
import { REPLAY, type Stream } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface ReplayFormProps {
  readonly brokerId: string;
  readonly stream: Stream;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}

/** Starts a replay of the stored messages of a stream. */
export function ReplayForm({ brokerId, stream, onClose, onStarted }: ReplayFormProps) {
  const text = useTexts(streamTexts);
  const { run, isBusy, error } = useMutation(REPLAY);
  const [form, setForm] = useState({ topic: '', from: '', to: '', speed: '1', limit: '', reverse: false });
  const change = (changed: Partial<typeof form>) => setForm({ ...form, ...changed });
  const start = async (event: FormEvent) => {
    event.preventDefault();
    const { topic, from, to, speed, limit, reverse } = form;
    const started = await run({
      input: {
        brokerId,
        name: stream.name,
        topic,
        reverse,
        ...(speed === '' ? { fastest: true } : { speed: Number(speed) }),
        ...(from !== '' && { from: new Date(from).toISOString() }),
        ...(to !== '' && { to: new Date(to).toISOString() }),
        ...(limit !== '' && { limit: Number(limit) }),
      },
    });
    if (started) onStarted();
  };
  const input = (name: 'topic' | 'from' | 'to' | 'speed' | 'limit', type: string) => (
    <input
      type={type}
      required={name === 'topic'}
      min={type === 'number' ? 0 : undefined}
      step={name === 'speed' || type === 'datetime-local' ? 'any' : undefined}
      value={form[name]}
      onInput={({ currentTarget: { value } }) => change({ [name]: value })}
    />
  );
  return (
    <Dialog title={text('replayOf', { name: stream.name })} onClose={onClose}>
      <form className="fields" onSubmit={(event) => void start(event)}>
        <p>{text('replayHint')}</p>
        <Field label={text('replayTopic')}>{input('topic', 'text')}</Field>
        <RangeChoice onRange={({ from, to }) => change({ from: localTime(from), to: localTime(to) })} />
        <Field label={text('from')} hint={text('fromHint')}>
          {input('from', 'datetime-local')}
        </Field>
        <Field label={text('to')} hint={text('toHint')}>
          {input('to', 'datetime-local')}
        </Field>
        <Field label={text('speed')} hint={text('speedHint')}>
          {input('speed', 'number')}
        </Field>
        <Field label={text('limit')} hint={text('limitHint')}>
          {input('limit', 'number')}
        </Field>
        <label>
          <input
            type="checkbox"
            checked={form.reverse}
            onChange={({ currentTarget: { checked } }) => change({ reverse: checked })}
          />{' '}
          {text('reverse')}
        </label>
        <Refusal error={error} />
        <DialogButtons action={text('startReplay')} isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
