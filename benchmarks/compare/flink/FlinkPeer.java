import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.FileSourceSplit;
import org.apache.flink.connector.file.src.assigners.FileSplitAssigner;
import org.apache.flink.connector.file.src.assigners.SimpleSplitAssigner;
import org.apache.flink.connector.file.src.reader.BulkFormat;
import org.apache.flink.core.fs.FileStatus;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.formats.parquet.ParquetColumnarRowInputFormat;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.BigIntType;
import org.apache.flink.table.types.logical.DoubleType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.VarCharType;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/**
 * Runs one pattern query on Apache Flink in this JVM (its local cluster) and prints what it found and how long it took.
 *
 * <p>usage: FlinkPeer (cep|sql) QUERY PATH WINDOW PARALLELISM (memory|file) (streaming|batch) RUNS
 *
 * <p>PATH is a folder of Parquet files with columns id, type, time, key, v, in time order. WINDOW bounds end minus start,
 * inclusive, in units of the time column (read as milliseconds); -1 is no bound. "memory" loads the events before the clock
 * starts. A run is timed from the first event that leaves the source to the last operator that closes: no JVM start, no job
 * submission. One line of JSON per run.
 */
public final class FlinkPeer {
    /** A plain Flink POJO, as its documentation advises. */
    public static final class Event {
        public long id;
        public String type;
        public long time;
        public long key;
        public double v;
    }

    static final RowType COLUMNS = RowType.of(
            new LogicalType[] {new BigIntType(), new VarCharType(VarCharType.MAX_LENGTH), new BigIntType(), new BigIntType(), new DoubleType()},
            new String[] {"id", "type", "time", "key", "v"});

    // The local cluster shares this JVM, so static fields see every subtask.
    static Event[] loaded;
    static final AtomicLong started = new AtomicLong();
    static final AtomicLong finished = new AtomicLong();
    static final LongAdder emitted = new LongAdder();
    static final LongAdder matches = new LongAdder();
    static final LongAdder checksum = new LongAdder();

    public static void main(String[] args) throws Exception {
        String mode = args[0], query = args[1], path = args[2];
        long window = Long.parseLong(args[3]);
        int parallelism = Integer.parseInt(args[4]), runs = Integer.parseInt(args[7]);
        boolean memory = args[5].equals("memory"), batch = args[6].equals("batch");
        if (memory) {
            loaded = load(path);
        }
        for (int run = 0; run < runs; run++) {
            started.set(0);
            for (LongAdder sum : List.of(emitted, matches, checksum)) {
                sum.reset();
            }
            StreamExecutionEnvironment env = environment(parallelism, batch);
            DataStream<Event> source = memory ? fromMemory(env) : fromFiles(env, path);
            if (mode.equals("cep")) {
                cep(source, query, window);
            } else {
                sql(env, source, query, window);
            }
            env.execute();
            System.out.printf("{\"matches\": %d, \"checksum\": \"%s\", \"events\": %d, \"seconds\": %s}%n", matches.sum(),
                    Long.toUnsignedString(checksum.sum()), emitted.sum(), (finished.get() - started.get()) / 1e9);
        }
        System.exit(0);
    }

    static StreamExecutionEnvironment environment(int parallelism, boolean batch) {
        Configuration settings = new Configuration();
        settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(1024)); // for the sort of batch mode
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        env.setParallelism(parallelism);
        env.setRuntimeMode(batch ? RuntimeExecutionMode.BATCH : RuntimeExecutionMode.STREAMING);
        env.getConfig().enableObjectReuse();
        return env;
    }

    // ---- events in -------------------------------------------------------------------------------------------------

    static ParquetColumnarRowInputFormat<FileSourceSplit> parquet() {
        return new ParquetColumnarRowInputFormat<>(
                new org.apache.hadoop.conf.Configuration(), COLUMNS, InternalTypeInfo.of(COLUMNS), 2048, true, true);
    }

    static Event leaving(Event event) {
        if (started.get() == 0) {
            started.compareAndSet(0, System.nanoTime());
        }
        emitted.increment();
        return event;
    }

    static Event event(RowData row) {
        Event e = new Event();
        e.id = row.getLong(0);
        e.type = row.getString(1).toString();
        e.time = row.getLong(2);
        e.key = row.getLong(3);
        e.v = row.getDouble(4);
        return e;
    }

    static Event[] load(String folder) throws Exception {
        Path path = new Path(folder);
        FileSystem files = path.getFileSystem();
        FileStatus[] parts = files.listStatus(path);
        Arrays.sort(parts, (x, y) -> x.getPath().getName().compareTo(y.getPath().getName()));
        List<Event> events = new ArrayList<>();
        for (FileStatus part : parts) {
            FileSourceSplit split = new FileSourceSplit(
                    part.getPath().getName(), part.getPath(), 0, part.getLen(), part.getModificationTime(), part.getLen());
            try (BulkFormat.Reader<RowData> reader = parquet().createReader(new Configuration(), split)) {
                for (var rows = reader.readBatch(); rows != null; rows = reader.readBatch()) {
                    for (var row = rows.next(); row != null; row = rows.next()) {
                        events.add(event(row.getRecord()));
                    }
                    rows.releaseBatch();
                }
            }
        }
        return events.toArray(new Event[0]);
    }

    static WatermarkStrategy<Event> inTimeOrder() {
        return WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((e, ignored) -> e.time);
    }

    static DataStream<Event> fromMemory(StreamExecutionEnvironment env) {
        int readers = env.getParallelism();
        DataGeneratorSource<Event> source = new DataGeneratorSource<>(
                i -> leaving(loaded[interleave(i, loaded.length, readers)]), loaded.length, Types.POJO(Event.class));
        return env.fromSource(source, inTimeOrder(), "events");
    }

    /** Flink hands each reader one contiguous range; deal the events out in turn instead, so that readers advance together. */
    static int interleave(long i, int n, int readers) {
        long size = n / readers, longer = n % readers, inLonger = longer * (size + 1);
        long reader = i < inLonger ? i / (size + 1) : longer + (i - inLonger) / size;
        long offset = i < inLonger ? i % (size + 1) : (i - inLonger) % size;
        return (int) (offset * readers + reader);
    }

    static DataStream<Event> fromFiles(StreamExecutionEnvironment env, String folder) {
        FileSource<RowData> source = FileSource.forBulkFileFormat(parquet(), new Path(folder))
                .setSplitAssigner(FlinkPeer::inNameOrder).build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "files")
                .map(row -> leaving(event(row))).returns(Event.class)
                .assignTimestampsAndWatermarks(inTimeOrder());
    }

    /** Files cut the stream by time; handed out in another order, events would be late and dropped without a word. */
    static FileSplitAssigner inNameOrder(Collection<FileSourceSplit> splits) {
        List<FileSourceSplit> lastFirst = new ArrayList<>(splits); // SimpleSplitAssigner takes from the end
        lastFirst.sort(Comparator.comparing((FileSourceSplit split) -> split.path().getName()).reversed());
        return new SimpleSplitAssigner(lastFirst);
    }

    // ---- queries ---------------------------------------------------------------------------------------------------

    static SimpleCondition<Event> type(String name) {
        return SimpleCondition.of(e -> e.type.equals(name));
    }

    static void cep(DataStream<Event> events, String query, long window) {
        Pattern<Event, Event> pattern = Pattern.<Event>begin("a", AfterMatchSkipStrategy.noSkip()).where(type("A"))
                .followedByAny("b").where(type("B"));
        if (query.equals("kleene")) {
            pattern = pattern.oneOrMore().allowCombinations();
        }
        pattern = pattern.followedByAny("c").where(type("C"));
        if (window >= 0) {
            pattern = pattern.within(Duration.ofMillis(window + 1)); // Flink's window excludes its end
        }
        CEP.pattern(events.keyBy(e -> e.key), pattern).inEventTime().process(new CountMatches());
    }

    static void sql(StreamExecutionEnvironment env, DataStream<Event> events, String query, long window) {
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.createTemporaryView("events", tables.fromDataStream(events, Schema.newBuilder()
                .column("id", "BIGINT NOT NULL").column("type", "STRING").column("time", "BIGINT").column("key", "BIGINT")
                .column("v", "DOUBLE") // nullable, or the planner folds LAST(D.v, 1) IS NULL to FALSE
                .columnByExpression("at", "TO_TIMESTAMP_LTZ(`time`, 3)")
                .watermark("at", "SOURCE_WATERMARK()")
                .build()));
        long open = window + 1; // Flink's window excludes its end
        String within = window < 0 ? "" : "WITHIN INTERVAL '%d.%03d' SECOND(10, 3)".formatted(open / 1000, open % 1000);
        tables.toDataStream(tables.sqlQuery(MATCH_RECOGNIZE.get(query).formatted(within)))
                .process(new CountRows());
    }

    // Without PREV (Flink has none), LAST(D.v, 1) names the D before the one at hand.
    static final Map<String, String> MATCH_RECOGNIZE = Map.of(
            "vshape", """
                    SELECT first_id, bottom_id, last_id FROM events MATCH_RECOGNIZE (
                      PARTITION BY `key` ORDER BY `at`
                      MEASURES S.id AS first_id, LAST(D.id) AS bottom_id, U.id AS last_id
                      ONE ROW PER MATCH AFTER MATCH SKIP TO LAST U
                      PATTERN (S D+ U) %s
                      DEFINE D AS (LAST(D.v, 1) IS NULL AND D.v < S.v) OR D.v < LAST(D.v, 1),
                             U AS U.v > LAST(D.v))""",
            "seq3", """
                    SELECT first_id, middle_id, last_id FROM events MATCH_RECOGNIZE (
                      PARTITION BY `key` ORDER BY `at`
                      MEASURES A.id AS first_id, B.id AS middle_id, C.id AS last_id
                      ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
                      PATTERN (A X* B Y* C) %s
                      DEFINE A AS A.type = 'A', X AS X.type <> 'B', B AS B.type = 'B', Y AS Y.type <> 'C', C AS C.type = 'C')""");

    /** Sums up matches; the checksum makes sure that every match was built and is the expected one. */
    static final class CountMatches extends PatternProcessFunction<Event, Long> {
        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            long hash = 0;
            for (String step : new String[] {"a", "b", "c"}) {
                for (Event e : match.get(step)) {
                    hash = hash * 31 + e.id + 1;
                }
            }
            matches.increment();
            checksum.add(hash);
        }

        @Override
        public void close() {
            finished.set(System.nanoTime());
        }
    }

    static final class CountRows extends ProcessFunction<Row, Long> {
        @Override
        public void processElement(Row row, Context context, Collector<Long> out) {
            long hash = 0;
            for (int i = 0; i < row.getArity(); i++) {
                hash = hash * 31 + (Long) row.getField(i) + 1;
            }
            matches.increment();
            checksum.add(hash);
        }

        @Override
        public void close() {
            finished.set(System.nanoTime());
        }
    }
}
