import { useNumbers, useTexts } from '../texts/texts.ts';
import { Chart } from './chart.tsx';
import type { Numbers } from './live-numbers.ts';
import { overviewTexts } from './overview-texts.ts';
import { useBytes } from './units.ts';

/** The last ten minutes of a broker. */
export function Charts({ samples }: { readonly samples: readonly Numbers[] }) {
  const text = useTexts(overviewTexts);
  const numberText = useNumbers();
  const bytesText = useBytes();
  return (
    <section className="charts" aria-label={text('lastMinutes')}>
      <Chart
        title={text('clients')}
        samples={samples}
        format={numberText}
        lines={[{ key: 'connected', title: text('connected'), numberOf: ({ clients }) => clients.connected }]}
      />
      <Chart
        title={text('messagesPerSecond')}
        samples={samples}
        format={numberText}
        lines={[
          { key: 'in', title: text('receivedLine'), numberOf: ({ rates }) => rates.publishReceivedPerSecond },
          { key: 'out', title: text('sentLine'), numberOf: ({ rates }) => rates.publishSentPerSecond },
          { key: 'dropped', title: text('droppedLine'), numberOf: ({ rates }) => rates.publishDroppedPerSecond },
        ]}
      />
      <Chart
        title={text('bytesPerSecond')}
        samples={samples}
        format={bytesText}
        lines={[
          { key: 'in', title: text('receivedLine'), numberOf: ({ rates }) => rates.bytesReceivedPerSecond },
          { key: 'out', title: text('sentLine'), numberOf: ({ rates }) => rates.bytesSentPerSecond },
        ]}
      />
    </section>
  );
}
