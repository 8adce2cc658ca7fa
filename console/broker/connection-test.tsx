import type { TadaDocumentNode } from 'gql.tada';
import { CircleCheck, CircleMinus, CircleX } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Refusal } from '../ui/problem.tsx';
import { connectionTexts } from './connection-texts.ts';

interface ConnectionTestProps<Tested, Variables> {
  readonly document: TadaDocumentNode<Tested, Variables>;
  readonly variables: Variables;
  /** Whether the variables name a target. */
  readonly isReady: boolean;
  readonly children: (tested: Tested) => ReactNode;
}

/** A button that tries a connection, and what it found. */
export function ConnectionTest<Tested, Variables>(props: ConnectionTestProps<Tested, Variables>) {
  const { document, variables, isReady, children } = props;
  const text = useTexts(connectionTexts);
  const { run, isBusy, error } = useMutation(document);
  const [found, setFound] = useState<{ readonly of: string; readonly tested: Tested | null } | null>(null);
  // The result of other settings says nothing about these.
  const key = JSON.stringify(variables);
  const tested = found?.of === key ? found.tested : null;
  const test = async () => {
    setFound({ of: key, tested: await run(variables) });
  };
  return (
    <div className="connection-test">
      <button type="button" disabled={isBusy || !isReady} aria-busy={isBusy} onClick={() => void test()}>
        {text(isBusy ? 'testing' : tested === null ? 'test' : 'checkAgain')}
      </button>
      <Refusal error={found?.of === key ? error : null} />
      <div role="status">{tested && children(tested)}</div>
    </div>
  );
}

export type Outcome = 'passed' | 'failed' | 'notChecked';

export interface Check {
  readonly title: string;
  readonly outcome: Outcome;
  /** If it failed. */
  readonly help?: ReactNode;
}

const ICONS = { passed: CircleCheck, failed: CircleX, notChecked: CircleMinus } as const;

/** Requirements, each with a mark. */
export function Checks({ checks }: { readonly checks: readonly Check[] }) {
  const text = useTexts(connectionTexts);
  return (
    <ul className="checks" aria-label={text('testResult')}>
      {checks.map(({ title, outcome, help }) => {
        const Icon = ICONS[outcome];
        return (
          <li key={title} className={outcome}>
            <Icon role="img" aria-label={text(outcome)} />
            <span>
              {title} {outcome === 'failed' && help && <small>{help}</small>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
