import { useState } from 'react';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { Chart } from './chart.tsx';
import { hasDays, RANGES, type Range, useMetricHistory } from './metric-history.ts';
import { overviewTexts } from './overview-texts.ts';
import { useBytes } from './units.ts';

const isRange = (value: string): value is Range => value in RANGES;

/** The stored metrics of a broker, over a time that the user selects. */
export function Charts({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(overviewTexts);
  const numberText = useNumbers();
  const bytesText = useBytes();
  const [range, setRange] = useState<Range>('tenMinutes');
  const { metrics, error } = useMetricHistory(brokerId, range);
  const shared = metrics && {
    range: text(range),
    hasDays: hasDays(range),
    times: metrics.clients.mean.map((_mean, nth) => Date.parse(metrics.from) + nth * metrics.stepSeconds * 1_000),
  };
  return (
    <section aria-label={text('history')}>
      <label>
        {text('history')}{' '}
        <select value={range} onChange={({ currentTarget: { value } }) => isRange(value) && setRange(value)}>
          {Object.keys(RANGES)
            .filter(isRange)
            .map((one) => (
              <option key={one} value={one}>
                {text(one)}
              </option>
            ))}
        </select>
      </label>
      {error !== null && <Problem error={error} />}
      {metrics?.problem != null && <p role="alert">{metrics.problem}</p>}
      {shared && (
        <div className="charts">
          <Chart
            {...shared}
            title={text('clients')}
            format={numberText}
            lines={[{ key: 'connected', title: text('connected'), values: metrics.clients.mean }]}
          />
          <Chart
            {...shared}
            title={text('messagesPerSecond')}
            format={numberText}
            lines={[
              { key: 'in', title: text('receivedLine'), values: metrics.messagesIn.mean },
              { key: 'out', title: text('sentLine'), values: metrics.messagesOut.mean },
              { key: 'dropped', title: text('droppedLine'), values: metrics.messagesDropped.mean },
            ]}
          />
          <Chart
            {...shared}
            title={text('bytesPerSecond')}
            format={bytesText}
            lines={[
              { key: 'in', title: text('receivedLine'), values: metrics.bytesIn.mean },
              { key: 'out', title: text('sentLine'), values: metrics.bytesOut.mean },
            ]}
          />
        </div>
      )}
    </section>
  );
}
