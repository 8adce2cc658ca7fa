import { useEffect, useState } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { compactJson } from '../messages/json-layout.ts';
import { shortText } from '../messages/payload.ts';
import { useTail } from '../messages/use-tail.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import type { Column } from '../ui/column.ts';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { expressionOf } from './expression.ts';
import { PREVIEW, type PreviewResult } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface PreviewProps {
  readonly brokerId: string;
  /** `null` while the text is not JSON. */
  readonly query: unknown;
  /** The topic filter of the samples. */
  readonly source: string;
  readonly canRead: boolean;
}

/** Number of samples, and the time without input after which they are evaluated. */
const SAMPLES = 20;
const PAUSE_MS = 300;

/** What a query does with samples, which may be live messages of the source. Nothing is created. */
export function Preview({ brokerId, query, source, canRead }: PreviewProps) {
  const text = useTexts(streamTexts);
  const [lines, setLines] = useState('');
  const [topic, setTopic] = useState<string | null>(null);
  const sampleTopic = topic ?? (isOneTopic(source) ? source : '');
  const samples = lines.split('\n').filter((line) => line.trim() !== '');
  return (
    <>
      <h3>{text('preview')}</h3>
      <Field label={text('samples')} hint={text('samplesHint')}>
        <textarea rows={4} value={lines} onInput={({ currentTarget: { value } }) => setLines(value)} />
      </Field>
      {canRead && source !== '' && (
        <LiveSamples
          brokerId={brokerId}
          source={source}
          onTake={(taken, from) => {
            setLines(taken);
            setTopic(from);
          }}
        />
      )}
      {expressionOf(query) !== null && (
        <Field label={text('sampleTopic')}>
          <input value={sampleTopic} onInput={({ currentTarget: { value } }) => setTopic(value)} />
        </Field>
      )}
      {query !== null && samples.length > 0 && (
        <Results query={query} samples={samples.slice(0, SAMPLES)} topic={sampleTopic} />
      )}
    </>
  );
}

interface LiveSamplesProps {
  readonly brokerId: string;
  readonly source: string;
  /** `topic`: that of the first sample. */
  readonly onTake: (lines: string, topic: string) => void;
}

function LiveSamples({ brokerId, source, onTake }: LiveSamplesProps) {
  const text = useTexts(streamTexts);
  const numberText = useNumbers();
  const filter = useSettled(source);
  const { messages, filters } = useTail(brokerId, [filter], 10);
  const payloads = messages.flatMap(({ payload }) => (payload === null ? [] : [oneLine(payload)])).slice(0, SAMPLES);
  return (
    <p>
      <button
        type="button"
        disabled={payloads.length === 0}
        onClick={() => onTake(payloads.toReversed().join('\n'), messages.at(-1)?.topic ?? source)}
      >
        {text('takeSamples', { count: numberText(payloads.length) })}
      </button>{' '}
      <span className="quiet">{filters[0]?.problem ?? text('samplesOf', { filter })}</span>
    </p>
  );
}

interface ResultsProps {
  readonly query: unknown;
  readonly samples: readonly string[];
  readonly topic: string;
}

function Results({ query, samples, topic }: ResultsProps) {
  const text = useTexts(streamTexts);
  const variables = useSettled({ query, samples: [...samples], topic });
  const { data, error } = useQuery(PREVIEW, variables);
  const results = data?.previewStream.results ?? [];
  type Row = PreviewResult & { readonly sample: string; readonly index: number };
  const rows: readonly Row[] = results.map((result, index) => ({
    ...result,
    index,
    sample: variables.samples[index] ?? '',
  }));
  const columns: Column<Row>[] = [
    { key: 'sample', title: text('sample'), cell: ({ sample }) => <code>{shortText(sample, 60)}</code> },
    { key: 'outcome', title: text('outcome'), cell: ({ outcome }) => text(outcome) },
    {
      key: 'output',
      title: text('output'),
      cell: ({ payload, reason }) =>
        payload === null ? <AsSent>{reason}</AsSent> : <code>{shortText(payload, 60)}</code>,
    },
  ];
  return (
    <>
      <Refusal error={error} />
      {error === null && rows.length > 0 && (
        <Table label={text('preview')} columns={columns} rows={rows} keyOf={({ index }) => `${index}`} hasCsv={false} />
      )}
    </>
  );
}

/** Whether a topic filter has no wildcards. */
const isOneTopic = (filter: string): boolean => !/[+#]/.test(filter);

/** JSON over several lines becomes one, because each line is a sample. */
const oneLine = (payload: string): string => compactJson(payload) ?? payload.replaceAll(/[\r\n]+/g, ' ');

/** The value after a pause without changes. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}
