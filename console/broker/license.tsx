import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { useBroker } from './broker-context.ts';
import { overviewTexts } from './overview-texts.ts';

const LICENSE = graphql(`query License($id: ID!) {
  broker(id: $id) {
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
    <section aria-label={text('software')}>
      <h2>{text('software')}</h2>
      {!license && <Problem error={error} />}
      <dl>
        <dt>{text('version')}</dt>
        <dd>{version ?? '–'}</dd>
        {license && (
          <>
            <dt>{text('edition')}</dt>
            <dd>{license.edition}</dd>
            <dt>{text('plan')}</dt>
            <dd>{license.plan}</dd>
            {license.issuedTo !== '' && (
              <>
                <dt>{text('issuedTo')}</dt>
                <dd>{license.issuedTo}</dd>
              </>
            )}
            {license.issuedBy !== '' && (
              <>
                <dt>{text('issuedBy')}</dt>
                <dd>{license.issuedBy}</dd>
              </>
            )}
            {license.validSince !== null && (
              <>
                <dt>{text('validSince')}</dt>
                <dd>
                  <Time at={license.validSince} />
                </dd>
              </>
            )}
            <dt>{text('validUntil')}</dt>
            <dd>{license.validUntil === null ? text('unlimited') : <Time at={license.validUntil} />}</dd>
            {license.features.length > 0 && (
              <>
                <dt>{text('features')}</dt>
                <dd>{license.features.join(', ')}</dd>
              </>
            )}
          </>
        )}
      </dl>
    </section>
  );
}
