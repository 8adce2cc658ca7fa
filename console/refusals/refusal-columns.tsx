import { Link } from 'wouter';
import { reasonTexts } from '../advice/reason-texts.ts';
import { type Advised, useAdvice } from '../advice/use-advice.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { WithTooltip } from '../ui/as-sent.tsx';
import type { Column } from '../ui/column.ts';
import { Time } from '../ui/time.tsx';
import { addressOfWhy, type Refused } from './refusal-address.ts';
import { refusalTexts } from './texts.ts';

type ListedRefusal = Refused &
  Advised & {
    readonly lastAt: string;
    readonly detail: string | null;
    readonly count: number;
  };

/** The columns that all lists of refusals have, with the link to the explanation. */
export function useRefusalColumns(brokerId: string) {
  const text = useTexts(refusalTexts);
  const reasonText = useTexts(reasonTexts);
  const adviceOf = useAdvice();
  const numberText = useNumbers();
  return {
    last: {
      key: 'last',
      title: text('last'),
      cell: ({ lastAt }) => <Time isRelative={true} at={lastAt} />,
      value: ({ lastAt }) => lastAt,
    },
    topic: { key: 'topic', title: text('topic'), cell: ({ topic }) => topic ?? '–' },
    reason: {
      key: 'reason',
      title: text('reason'),
      cell: (refusal) => (
        <>
          <WithTooltip tooltip={refusal.detail}>{reasonText(refusal.reason)}</WithTooltip>{' '}
          <small>{ruleOf(refusal)}</small> <Link href={addressOfWhy(brokerId, refusal)}>{text('why')}</Link>
        </>
      ),
      value: ({ reason }) => reasonText(reason),
    },
    decidedBy: {
      key: 'decidedBy',
      title: text('decidedBy'),
      isHidden: true,
      cell: ruleOf,
    },
    whatHelps: { key: 'whatHelps', title: text('whatHelps'), cell: adviceOf },
    times: {
      key: 'times',
      title: text('times'),
      isNumber: true,
      cell: ({ count }) => numberText(count),
      value: ({ count }) => count,
    },
  } satisfies Record<string, Column<ListedRefusal>>;
}

/** The role, with the topic of its rule. */
export const ruleOf = ({ decidedBy }: Pick<Advised, 'decidedBy'>): string =>
  decidedBy ? `${decidedBy.roleName}${decidedBy.rule ? `: ${decidedBy.rule.topic}` : ''}` : '';
