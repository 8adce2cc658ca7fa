import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Facts } from '../ui/facts.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { useBroker } from './broker-context.ts';
import { overviewTexts } from './overview-texts.ts';

const LICENSE = graphql(`query License($id: ID!) {
  broker(id: $id) {
    plugins { name version }
    license { edition plan issuedTo issuedBy validSince validUntil features }
  }
}`);

interface LicenseProps {
  /** In the broker's words. */
  readonly version: string | null;
}

/** The version of the broker, and the licence that it reports. */
export function License({ version }: LicenseProps) {
  const text = useTexts(overviewTexts);
  const { id } = useBroker();
  const { data, error } = useQuery(LICENSE, { id });
  const license = data?.broker?.license;
  return (
    <section className="card" aria-label={text('software')}>
      <h2>{text('software')}</h2>
      {!license && <Problem error={error} />}
      <Facts
        facts={[
          [text('version'), version ?? '–'],
          [
            text('plugins'),
            data?.broker?.plugins?.map(({ name, version: own }) => [name, own].filter(Boolean).join(' ')).join(', '),
          ],
          [text('edition'), license?.edition],
          [text('plan'), license?.plan],
          [text('issuedTo'), license?.issuedTo],
          [text('issuedBy'), license?.issuedBy],
          [text('validSince'), license?.validSince && <Time key="since" at={license.validSince} />],
          [
            text('validUntil'),
            license && (license.validUntil ? <Time key="until" at={license.validUntil} /> : text('unlimited')),
          ],
          [text('features'), license?.features.join(', ')],
        ]}
      />
    </section>
  );
}
