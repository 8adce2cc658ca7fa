import { type Check, Checks, ConnectionTest, type Outcome } from '../broker/connection-test.tsx';
import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { bridgeTexts } from './texts.ts';

const TEST = graphql(`mutation TestBridgeConnection($input: TestBridgeConnectionInput!) {
  testBridgeConnection(input: $input) { state error responseStatus }
}`);

/** Tests a connection of a bridge that this service runs, as far as possible without a change of the target. */
export function BridgeTest({ input }: VariablesOf<typeof TEST>) {
  const text = useTexts(bridgeTexts);
  const steps = STEPS[input.bridgeKey as keyof typeof STEPS];
  if (steps === undefined) return null;
  return (
    <>
      <ConnectionTest document={TEST} variables={{ input }} isReady={input.connectionName !== ''}>
        {({ testBridgeConnection }) => <BridgeChecks steps={steps} tested={testBridgeConnection} />}
      </ConnectionTest>
      <p className="quiet">{text(`${input.bridgeKey as keyof typeof STEPS}Test`)}</p>
    </>
  );
}

/** What a test checks, each after the one before, and the state of a connection where it fails. */
const STEPS = {
  'mqtt-bridge': [
    ['isReached', 'UNREACHABLE'],
    ['isAuthorized', 'UNAUTHORIZED'],
  ],
  'postgresql-bridge': [
    ['isReached', 'UNREACHABLE'],
    ['isAuthorized', 'UNAUTHORIZED'],
    ['hasTables', 'FAILED'],
  ],
  'webhook-bridge': [
    ['isReached', 'UNREACHABLE'],
    ['hasNoRedirect', 'FAILED'],
  ],
} as const;

interface BridgeChecksProps {
  readonly steps: (typeof STEPS)[keyof typeof STEPS];
  readonly tested: ResultOf<typeof TEST>['testBridgeConnection'];
}

function BridgeChecks({ steps, tested: { state, error, responseStatus } }: BridgeChecksProps) {
  const text = useTexts(bridgeTexts);
  const failed = steps.findIndex(([, failure]) => failure === state);
  const outcomeOf = (at: number): Outcome =>
    failed === -1 || at < failed ? 'passed' : at === failed ? 'failed' : 'notChecked';
  const checks = steps.map(
    ([title], at): Check => ({ title: text(title), outcome: outcomeOf(at), help: <AsSent>{error}</AsSent> }),
  );
  return (
    <>
      <Checks checks={checks} />
      {responseStatus !== null && <p className="quiet">{text('optionsStatus', { status: responseStatus })}</p>}
    </>
  );
}
