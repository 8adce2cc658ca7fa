import { CircleCheck, CircleMinus, CircleX } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Refusal } from '../ui/problem.tsx';
import { useCapabilityReason } from '../ui/use-capability-reason.tsx';
import { connectionTexts } from './connection-texts.ts';

const TEST = graphql(`mutation TestBroker($input: TestBrokerInput!) {
  testBroker(input: $input) {
    connection { state lastError }
    capabilities { api provider reason reasonCode }
    deniedFilters
  }
}`);

type Tested = ResultOf<typeof TEST>['testBroker'];

interface ConnectionTestProps {
  readonly input: VariablesOf<typeof TEST>['input'];
  /** Whether the broker must serve more than messages. */
  readonly isManaged: boolean;
}

/** A button that tries a connection, and what it found: each requirement with a mark. */
export function ConnectionTest({ input, isManaged }: ConnectionTestProps) {
  const text = useTexts(connectionTexts);
  const { run, isBusy, error } = useMutation(TEST);
  const [found, setFound] = useState<{ readonly of: string; readonly tested: Tested | null } | null>(null);
  // The result of other settings says nothing about these.
  const key = JSON.stringify(input);
  const tested = found?.of === key ? found.tested : null;
  const test = async () => {
    const done = await run({ input });
    setFound({ of: key, tested: done?.testBroker ?? null });
  };
  return (
    <div className="connection-test">
      <button type="button" disabled={isBusy || !input.url} aria-busy={isBusy} onClick={() => void test()}>
        {text(isBusy ? 'testing' : tested === null ? 'test' : 'checkAgain')}
      </button>
      <Refusal error={found?.of === key ? error : null} />
      <div role="status">{tested && <Checks tested={tested} isManaged={isManaged} />}</div>
    </div>
  );
}

type Outcome = 'passed' | 'failed' | 'notChecked';

const ICONS = { passed: CircleCheck, failed: CircleX, notChecked: CircleMinus } as const;

function Checks({ tested, isManaged }: { readonly tested: Tested; readonly isManaged: boolean }) {
  const text = useTexts(connectionTexts);
  const reasonOf = useCapabilityReason();
  const { connection, capabilities, deniedFilters } = tested;
  const { state, lastError } = connection;
  const isConnected = state === 'CONNECTED';
  const hasResponded = isConnected || state === 'UNAUTHORIZED';
  const check = (title: string, outcome: Outcome, help: ReactNode = null) => {
    const Icon = ICONS[outcome];
    return (
      <li key={title} className={outcome}>
        <Icon role="img" aria-label={text(outcome)} />
        <span>
          {title} {outcome === 'failed' && help !== null && <small>{help}</small>}
        </span>
      </li>
    );
  };
  const onceConnected = (isMet: boolean): Outcome => (isConnected ? (isMet ? 'passed' : 'failed') : 'notChecked');
  const cause = <AsSent>{lastError}</AsSent>;
  return (
    <ul className="checks" aria-label={text('testResult')}>
      {check(text('isReached'), hasResponded ? 'passed' : 'failed', cause)}
      {check(text('isAuthorized'), isConnected ? 'passed' : hasResponded ? 'failed' : 'notChecked', cause)}
      {isManaged && (
        <>
          {API_CHECKS.map(([api, title]) => {
            const capability = capabilities.find((one) => one.api === api);
            return check(
              text(title),
              onceConnected(capability?.provider === 'BROKER'),
              capability ? reasonOf(capability) : null,
            );
          })}
          {FILTER_CHECKS.map(([filter, title]) =>
            check(text(title), onceConnected(!deniedFilters.includes(filter)), text('mayNotRead', { filter })),
          )}
        </>
      )}
    </ul>
  );
}

const API_CHECKS = [
  ['dynamic-security', 'hasDynamicSecurity'],
  ['broker', 'hasBrokerApi'],
] as const;
const FILTER_CHECKS = [
  ['$SYS/broker/version', 'readsNumbers'],
  ['$SYS/broker/log/#', 'readsLog'],
] as const;
