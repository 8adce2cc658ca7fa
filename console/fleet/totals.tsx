import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { isNumber } from '../charts/line.ts';
import type { Values } from '../charts/path.ts';
import { Sparkline } from '../charts/sparkline.tsx';
import { useTimeTexts } from '../charts/time-texts.ts';
import { useQuery } from '../graph/use-query.ts';
import { ProblemBadge } from '../problems/problem-badge.tsx';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { useFleetView } from './fleet-view.ts';
import { FLEET_HOUR, type Projects } from './operations.ts';
import { fleetTexts } from './texts.ts';

const HOUR_MS = 10_000;
/** From here on, numbers have no decimals. */
const LARGE = 100;

/** What all brokers have together, with the trend of the last hour. */
export function Totals({ found }: { readonly found: Projects }) {
  const text = useTexts(fleetTexts);
  const numberText = useNumbers();
  const { linkTo } = useFleetView();
  const { data } = useQuery(FLEET_HOUR, {}, HOUR_MS);
  const sum = (key: 'all' | 'away' | 'troubled') =>
    found.projects.nodes.reduce((total, project) => total + project[key].totalCount, 0);
  const [all, away, troubled] = [sum('all'), sum('away'), sum('troubled')];
  if (all === 0) return null;
  const { critical, warning, notice } = found.problemCounts;
  const hasProblems = critical + warning + notice > 0;
  const hour = data?.fleetMetrics;
  const steps = hour ? complete(hour.brokers) : 0;
  const measured = hour?.brokers[steps - 1] ?? 0;
  const rounded = hour?.clients.map((value) => value && Math.round(value));
  const trend = (values: Values = []) => ({
    values: values.slice(0, steps),
    from: hour?.from,
    step: hour?.stepSeconds,
  });
  return (
    <dl className="totals">
      <Total title={text('brokers')} value={numberText(all)}>
        {away > 0 ? (
          <Link href={linkTo({ show: 'away' })} className="bad">
            {text('away', { count: numberText(away) })}
          </Link>
        ) : (
          text('allConnected')
        )}
        {hour && measured < all && <span>{text('measured', { count: numberText(measured) })}</span>}
      </Total>
      <Trend title={text('clients')} {...trend(rounded)} />
      <Trend title={text('received')} {...trend(hour?.messagesIn)} />
      <Trend title={text('sent')} {...trend(hour?.messagesOut)} />
      <Trend title={text('deniedRate')} {...trend(hour?.refusals)} />
      <Total
        title={text('problems')}
        value={hasProblems ? <ProblemBadge counts={found.problemCounts} most={3} /> : '0'}
      >
        {troubled > 0 ? (
          <Link href={linkTo({ show: 'problems' })}>{text('troubled', { count: numberText(troubled) })}</Link>
        ) : (
          away === 0 && text('noTroubled')
        )}
      </Total>
    </dl>
  );
}

/** Steps without the current one, as long as fewer brokers have been measured in it than in the one before. */
function complete(brokers: readonly number[]): number {
  const [before = 0, last = 0] = brokers.slice(-2);
  return last < before ? brokers.length - 1 : brokers.length;
}

interface TotalProps {
  readonly title: string;
  readonly value: ReactNode;
  readonly children: ReactNode;
}

function Total({ title, value, children }: TotalProps) {
  return (
    <div className="card">
      <dt>{title}</dt>
      <dd>
        <strong>{value}</strong>
        <small>{children}</small>
      </dd>
    </div>
  );
}

interface TrendProps {
  readonly title: string;
  readonly values: Values;
  /** Beginning of the first value, and seconds of each. */
  readonly from: string | undefined;
  readonly step: number | undefined;
}

/** The last known value, how it changed since the first known one, and all of them as a small chart. */
function Trend({ title, values, from, step }: TrendProps) {
  const text = useTexts(fleetTexts);
  const numberText = useNumbers();
  const times = useTimeTexts();
  const brief = (value: number) => numberText(value < LARGE ? value : Math.round(value));
  const first = values.findIndex(isNumber);
  const last = values.findLast(isNumber);
  const difference = (last ?? 0) - (values[first] ?? 0);
  const change = brief(Math.abs(difference));
  const since = () => times.MINUTE(Date.parse(from ?? '') + first * (step ?? 0) * 1_000);
  const sign = change === brief(0) ? '±' : difference > 0 ? '+' : '−';
  return (
    <Total title={title} value={last === undefined ? '–' : brief(last)}>
      {last === undefined ? (
        text('notMeasured')
      ) : (
        <>
          {text('since', { change: `${sign}${change}`, time: since() })}
          <Sparkline title={title} values={values.slice(first)} format={brief} />
        </>
      )}
    </Total>
  );
}
