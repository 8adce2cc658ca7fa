import { Link } from 'wouter';
import { Figures } from '../charts/figures.tsx';
import type { Values } from '../charts/path.ts';
import { useQuery } from '../graph/use-query.ts';
import { ProblemBadge } from '../problems/problem-badge.tsx';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { useFleetView } from './fleet-view.ts';
import { FLEET_HOUR, type Projects } from './operations.ts';
import { fleetTexts } from './texts.ts';

const HOUR_MS = 10_000;
/** From here on, numbers have no decimals. */
const LARGE = 100;

/** What all brokers have together now, and had in the last hour. */
export function Totals({ found }: { readonly found: Projects }) {
  const text = useTexts(fleetTexts);
  const numberText = useNumbers();
  const { linkTo } = useFleetView();
  const { data, error } = useQuery(FLEET_HOUR, {}, HOUR_MS);
  const sum = (key: 'all' | 'away' | 'troubled') =>
    found.projects.nodes.reduce((total, project) => total + project[key].totalCount, 0);
  const [all, away, troubled] = [sum('all'), sum('away'), sum('troubled')];
  if (all === 0) return null;
  if (data === null) return <Problem error={error} />;
  const { critical, warning, notice } = found.problemCounts;
  const { brokers, current, refused, ...hour } = data.fleetMetrics;
  const steps = complete(brokers);
  const brief = (value: number) => numberText(value < LARGE ? value : Math.round(value));
  const figure = (key: 'clients' | 'receivedShort' | 'sentShort' | 'denied', value: number | null, values: Values) => ({
    key,
    title: text(key),
    value: value === null ? '–' : brief(value),
    hour: values.slice(0, steps),
  });
  const figures = [
    {
      key: 'brokers',
      title: text('brokers'),
      value: numberText(all),
      more:
        away > 0 ? (
          <Link href={linkTo({ show: 'away' })} className="bad">
            {text('away', { count: numberText(away) })}
          </Link>
        ) : (
          text('allConnected')
        ),
    },
    {
      ...figure(
        'clients',
        current.clients,
        hour.clients.map((value) => value && Math.round(value)),
      ),
      more: current.brokers < all && text('counted', { count: numberText(current.brokers), total: numberText(all) }),
    },
    figure('receivedShort', current.messagesIn, hour.messagesIn),
    figure('sentShort', current.messagesOut, hour.messagesOut),
    figure('denied', refused, hour.refusals),
    {
      key: 'problems',
      title: text('problems'),
      value: critical + warning + notice > 0 ? <ProblemBadge counts={found.problemCounts} most={3} /> : '0',
      more:
        troubled > 0 ? (
          <Link href={linkTo({ show: 'problems' })}>{text('troubled', { count: numberText(troubled) })}</Link>
        ) : (
          away === 0 && text('noTroubled')
        ),
    },
  ];
  return <Figures figures={figures} format={brief} />;
}

/** Steps without the current one, as long as fewer brokers have been measured in it than in the one before. */
function complete(brokers: readonly number[]): number {
  const [before = 0, last = 0] = brokers.slice(-2);
  return last < before ? brokers.length - 1 : brokers.length;
}
