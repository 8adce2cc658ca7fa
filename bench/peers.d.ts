/** Without types, so that benchmarks compile whether their peers are installed or not. */
declare module 'sofa-api';
