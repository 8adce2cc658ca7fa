import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { useCapabilityReason } from '../ui/use-capability-reason.tsx';
import { type Check, Checks, ConnectionTest, type Outcome } from './connection-test.tsx';
import { connectionTexts } from './connection-texts.ts';

const TEST = graphql(`mutation TestBroker($input: TestBrokerInput!) {
  testBroker(input: $input) {
    connection { state lastError }
    capabilities { api provider reason reasonCode }
    deniedFilters
  }
}`);

/** Tests the connection to a broker, and what it must serve. */
export function BrokerTest({ input }: VariablesOf<typeof TEST>) {
  return (
    <ConnectionTest document={TEST} variables={{ input }} isReady={Boolean(input.url)}>
      {({ testBroker }) => <BrokerChecks tested={testBroker} />}
    </ConnectionTest>
  );
}

function BrokerChecks({ tested }: { readonly tested: ResultOf<typeof TEST>['testBroker'] }) {
  const text = useTexts(connectionTexts);
  const reasonOf = useCapabilityReason();
  const { connection, capabilities, deniedFilters } = tested;
  const { state, lastError } = connection;
  const isConnected = state === 'CONNECTED';
  const hasResponded = isConnected || state === 'UNAUTHORIZED';
  const onceConnected = (isMet: boolean): Outcome => (isConnected ? (isMet ? 'passed' : 'failed') : 'notChecked');
  const help = <AsSent>{lastError}</AsSent>;
  const isAuthorized = isConnected ? 'passed' : hasResponded ? 'failed' : 'notChecked';
  const checks: Check[] = [
    { title: text('isReached'), outcome: hasResponded ? 'passed' : 'failed', help },
    { title: text('isAuthorized'), outcome: isAuthorized, help },
    ...API_CHECKS.map(([api, title]) => {
      const capability = capabilities.find((one) => one.api === api);
      const outcome = onceConnected(capability?.provider === 'BROKER');
      return { title: text(title), outcome, help: capability ? reasonOf(capability) : null };
    }),
    ...FILTER_CHECKS.map(([filter, title]) => {
      const outcome = onceConnected(!deniedFilters.includes(filter));
      return { title: text(title), outcome, help: text('mayNotRead', { filter }) };
    }),
  ];
  return <Checks checks={checks} />;
}

const API_CHECKS = [
  ['dynamic-security', 'hasDynamicSecurity'],
  ['broker', 'hasBrokerApi'],
] as const;
const FILTER_CHECKS = [
  ['$SYS/broker/version', 'readsNumbers'],
  ['$SYS/broker/log/#', 'readsLog'],
] as const;
