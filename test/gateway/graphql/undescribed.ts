export const UNDESCRIBED: Readonly<Record<string, number>> = {};
