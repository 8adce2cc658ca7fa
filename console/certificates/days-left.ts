/** The class of a number of days: expired, or fewer than the project has as its threshold of the warning. */
export const daysClass = (days: number, warnDays: number): 'expired' | 'soon' | undefined =>
  days < 0 ? 'expired' : days < warnDays ? 'soon' : undefined;
