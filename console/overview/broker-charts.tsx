import { useMemo, useState } from 'react';
import { useBytes } from '../broker/units.ts';
import { Chart } from '../charts/chart.tsx';
import type { Format } from '../charts/line.ts';
import { RangePicker } from '../charts/range-picker.tsx';
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

/** The metrics that have a line in a chart. */
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
  const { range, span, choose, zoom } = useRange();
  const [point, setPoint] = useState<number | null>(null);
  const [from, to] = [span.from, span.to].map((time) => new Date(time).toISOString()) as [string, string];
  const variables = { id: broker.id, from, to, maxPoints: POINTS + 2 };
  const { data, error } = useQuery(METRICS, variables);
  const { marks, isComplete } = useMarks(broker, span, startedAt);
  const metrics = data?.broker?.metrics ?? null;
  const charts = useMemo(() => metrics && chartsOf(metrics, text, metric), [metrics, text('connected'), metric]);
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
        <span className="quiet hint">{text('howToZoom')}</span>
        <CopyAs document={METRICS} variables={variables} />
      </p>
    </section>
  );
}

function chartsOf(metrics: Metrics, text: (key: Text) => string, only: Metric | undefined) {
  const steps = {
    from: Date.parse(metrics.from),
    stepMs: metrics.stepSeconds * 1_000,
    count: metrics.clients.mean.length,
  };
  return CHARTS.map((chart) => ({
    ...chart,
    steps,
    lines: chart.lines
      .filter(([metric]) => only === undefined || metric === only)
      .map(([metric, title]) => ({ key: metric, title: text(title), ...metrics[metric] })),
  })).filter(({ lines }) => lines.length > 0);
}
