import { useBytes } from '../broker/units.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Refusal } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { settingsTexts } from './settings-texts.ts';

const STORAGE = graphql(`query HistoryStorage { historyStorage { days since bytes maxBytes problem } }`);

/** How long the history of brokers is stored, and how much room it takes: of all projects together. */
export function HistoryStorage() {
  const text = useTexts(settingsTexts);
  const bytesText = useBytes();
  const { data, error } = useQuery(STORAGE, {});
  if (data === null) return <Refusal error={error} />;
  const { days, since, bytes, maxBytes, problem } = data.historyStorage;
  return (
    <section aria-label={text('history')}>
      <h2>{text('history')}</h2>
      <p className="quiet">{text('historyMeans')}</p>
      {problem !== null && (
        <p role="alert" lang="en">
          {problem}
        </p>
      )}
      <dl>
        <dt>{text('historyDays')}</dt>
        <dd>
          {days} <code>HISTORY_DAYS</code>
        </dd>
        <dt>{text('historySince')}</dt>
        <dd>
          <Time at={since} />
        </dd>
        <dt>{text('historySize')}</dt>
        <dd>
          {text('historyOf', { bytes: bytes === null ? '–' : bytesText(bytes), most: bytesText(maxBytes) })}{' '}
          <code>HISTORY_MAX_MB</code>
        </dd>
      </dl>
    </section>
  );
}
