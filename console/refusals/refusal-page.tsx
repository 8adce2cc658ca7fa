import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { reasonTexts } from '../advice/reason-texts.ts';
import { ADVISED, placeOf, useAdvice } from '../advice/use-advice.ts';
import { useBroker } from '../broker/broker-context.ts';
import { clientPath } from '../clients/client-address.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { refusalTexts } from './texts.ts';
import { WhatToDo } from './what-to-do.tsx';

const REFUSAL = graphql(
  `query Refusal($id: ID!) {
  node(id: $id) {
    __typename
    ... on Refusal {
      kind
      detail
      firstAt
      lastAt
      count
      isMerged
      listenerPort
      topic
      reasonCode
      ...Advised
    }
  }
}`,
  [ADVISED],
);

/** The number of refusals grows. */
const COUNT_MS = 2_000;

/** All that is known about refusals that no access rule decided, and what can be done. */
export function RefusalPage({ id }: { readonly id: string }) {
  const text = useTexts(refusalTexts);
  const reasonText = useTexts(reasonTexts);
  const adviceOf = useAdvice();
  const broker = useBroker();
  const { data, error } = useQuery(REFUSAL, { id }, COUNT_MS);
  const list = <Link href={`/brokers/${broker.id}/refusals`}>{text('allRefusals')}</Link>;
  if (data === null) return <Problem error={error} />;
  const refusal = data.node;
  if (refusal?.__typename !== 'Refusal') {
    return (
      <>
        <p role="alert">{text('noRefusal')}</p>
        {list}
      </>
    );
  }
  const { clientId, username, detail, isMerged, reason } = refusal;
  const facts: readonly Fact[] = [
    [text('refused'), text(refusal.kind)],
    [text('client'), clientId && <Link href={clientPath(broker.id, clientId)}>{clientId}</Link>],
    [
      text('account'),
      username && <Link href={accessAddress(broker.id, 'accounts', { name: username })}>{username}</Link>,
    ],
    [text('address'), refusal.address],
    [text('takenOverBy'), refusal.takenOverBy && placeOf(refusal.takenOverBy)],
    [text('listenerPort'), refusal.listenerPort],
    [text('topic'), refusal.topic],
    [text('detail'), detail && <AsSent key="detail">{detail}</AsSent>],
    [text('reasonCode'), refusal.reasonCode],
    [text('times'), refusal.count],
    [text('first'), <Time key="first" at={refusal.firstAt} />],
    [text('last'), <Time key="last" at={refusal.lastAt} />],
  ];
  return (
    <>
      <p>{list}</p>
      <PageHeading of="OBJECT">{text('becauseOf', { reason: reasonText(reason) })}</PageHeading>
      {isMerged && <p className="note">{text('isMerged')}</p>}
      <Facts facts={facts} />
      <h3>{text('whatHelps')}</h3>
      <p>{adviceOf(refusal)}</p>
      <WhatToDo reason={reason} username={username} />
      <CopyAs document={REFUSAL} variables={{ id }} />
    </>
  );
}
