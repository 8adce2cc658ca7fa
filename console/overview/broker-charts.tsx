import { useMemo, useState } from 'react';
import { useBytes } from '../broker/units.ts';
import { Chart } from '../charts/chart.tsx';
import { type Format, isNumber } from '../charts/line.ts';
import { RANGES, type Range, spanOf } from '../charts/range.ts';
import { RangePicker } from '../charts/range-picker.tsx';
import { useTimeTexts } from '../charts/time-texts.ts';
import { useRange } from '../charts/use-range.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Problem } from '../ui/problem.tsx';
import { MarkList } from './mark-list.tsx';
import { METRICS, type Metric, type Metrics, POINTS } from './metrics-query.ts';
import { chartsTexts } from './texts.ts';
import { useMarks } from './use-marks.ts';

type Text = keyof typeof chartsTexts.en;

interface ChartOf {
  readonly title: Text;
  readonly isWhole?: boolean;
  readonly isBytes?: boolean;
  readonly lines: readonly (readonly [metric: Metric, title: Text])[];
}

const CHARTS: readonly ChartOf[] = [
  { title: 'clientsOverTime', isWhole: true, lines: [['clients', 'connected']] },
  {
    title: 'messagesPerSecond',
    lines: [
      ['messagesIn', 'received'],
      ['messagesOut', 'delivered'],
      ['messagesDropped', 'dropped'],
    ],
  },
  {
    title: 'bytesPerSecond',
    isBytes: true,
    lines: [
      ['bytesIn', 'received'],
      ['bytesOut', 'sent'],
    ],
  },
  { title: 'deniedPerSecond', lines: [['refusals', 'denied']] },
  { title: 'queuedMessages', isWhole: true, lines: [['queuedMessages', 'stored']] },
  {
    title: 'subscriptionsAndRetained',
    isWhole: true,
    lines: [
      ['subscriptions', 'subscriptions'],
      ['retainedMessages', 'retained'],
    ],
  },
];

export const CHARTED: readonly Metric[] = CHARTS.flatMap(({ lines }) => lines.map(([metric]) => metric));

interface BrokerChartsProps {
  readonly broker: {
    readonly id: string;
    readonly project: { readonly id: string; readonly viewerCanReadAudit: boolean };
  };
  /** When the broker started, epoch milliseconds. `null`: unknown. */
  readonly startedAt: number | null;
  /** The only metric that is shown. Default: those of all charts. */
  readonly metric?: Metric;
}

/** The stored metrics of a broker over the time in the address, with what was changed then. */
export function BrokerCharts({ broker, startedAt, metric }: BrokerChartsProps) {
  const text = useTexts(chartsTexts);
  const numberText = useNumbers();
  const bytesText = useBytes();
  const times = useTimeTexts();
  const asked = useRange();
  const { choose, zoom } = asked;
  const [point, setPoint] = useState<number | null>(null);
  const [from, to] = [asked.span.from, asked.span.to].map((time) => new Date(time).toISOString()) as [string, string];
  const variables = { id: broker.id, from, to, maxPoints: POINTS + 2 };
  const { data, error } = useQuery(METRICS, variables);
  const metrics = data?.broker?.metrics ?? null;
  const since = metrics && knownSince(metrics);
  // An hour of which only the end is known shows little.
  const isShort = !asked.isChosen && since !== null && since >= asked.span.to - RANGES[SHORT];
  const range: Range = isShort ? { key: SHORT } : asked.range;
  const span = isShort ? spanOf(range, asked.span.to) : asked.span;
  const { marks, isComplete } = useMarks(broker, span, startedAt);
  const charts = useMemo(
    () => metrics && chartsOf(metrics, span.from, text, metric),
    [metrics, span.from, text('connected'), metric],
  );
  const isLate = metrics !== null && since !== null && since > span.from + metrics.stepSeconds * 1_000;
  return (
    <section aria-label={text('history')} className="history">
      <header className="screen">
        {metric === undefined && <h2>{text('history')}</h2>}
        <RangePicker range={range} span={span} onRange={choose} />
      </header>
      {metrics === null && <Problem error={error} />}
      {metrics?.problem != null && (
        <p role="alert" lang="en">
          {metrics.problem}
        </p>
      )}
      {charts && (
        <div className="charts">
          {charts.map(({ title, isWhole = false, isBytes = false, lines, steps }) => (
            <Chart
              key={title}
              title={text(title)}
              lines={lines}
              steps={steps}
              span={span}
              format={(isBytes ? bytesText : numberText) satisfies Format}
              isWhole={isWhole}
              marks={marks}
              point={point}
              onPoint={setPoint}
              onZoom={zoom}
            />
          ))}
        </div>
      )}
      <MarkList marks={marks} isComplete={isComplete} mayRead={broker.project.viewerCanReadAudit} />
      <p className="screen">
        <span className="quiet hint">
          {text('howToZoom')} {isLate && text('measuredSince', { time: times.moment(since, 0) })}
        </span>
        <CopyAs document={METRICS} variables={variables} />
      </p>
    </section>
  );
}

/** Shown instead of the last hour as long as nothing older is known. */
const SHORT = '10m';

/** The beginning of the first step with a value, epoch milliseconds. `null`: nothing was measured. */
function knownSince(metrics: Metrics): number | null {
  const firsts = CHARTED.map((metric) => metrics[metric].mean.findIndex(isNumber)).filter((nth) => nth >= 0);
  return firsts.length === 0 ? null : Date.parse(metrics.from) + Math.min(...firsts) * metrics.stepSeconds * 1_000;
}

/** The charts of the steps from a time on. */
function chartsOf(metrics: Metrics, shownFrom: number, text: (key: Text) => string, only: Metric | undefined) {
  const [from, stepMs] = [Date.parse(metrics.from), metrics.stepSeconds * 1_000];
  const first = Math.max(0, Math.floor((shownFrom - from) / stepMs));
  const { length } = metrics.clients.mean;
  const steps = { from: from + first * stepMs, stepMs, count: Math.max(0, length - first) };
  return CHARTS.map((chart) => ({
    ...chart,
    steps,
    lines: chart.lines
      .filter(([metric]) => only === undefined || metric === only)
      .map(([metric, title]) => {
        const { mean, min, max } = metrics[metric];
        const [shownMean, shownMin, shownMax] = [mean.slice(first), min.slice(first), max.slice(first)];
        return { key: metric, title: text(title), mean: shownMean, min: shownMin, max: shownMax };
      }),
  })).filter(({ lines }) => lines.length > 0);
}
